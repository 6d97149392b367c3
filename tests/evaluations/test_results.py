"""Rates, pairs and the sentence about them, from episodes written down by hand."""

from itertools import product

import pytest

from app.episodes.states import Outcome
from app.evaluations.results import PlayedItem, compare, results
from app.metrics.statistics import Pairing, p_words


def item(
    model: int, seed: int, outcome: Outcome = Outcome.SOLVED, *, sample: int = 0, turns: int = 5
) -> PlayedItem:
    """In the tuple dialect a wrong stop still earns credit for its format."""
    is_solved = outcome is Outcome.SOLVED
    is_passed = is_solved or outcome is Outcome.WRONG_STOP
    return PlayedItem(
        model_number=model,
        seed=seed,
        sample=sample,
        outcome=outcome,
        is_solved=is_solved,
        is_passed=is_passed,
        turns=turns,
        reward=1.0 if is_solved else 0.2 * is_passed,
    )


def test_solve_rate_and_pass_at_1_are_different_numbers() -> None:
    played = [item(0, 1), item(0, 2, Outcome.WRONG_STOP), item(0, 3, Outcome.NO_STOP, turns=15)]
    (found,) = results(played, 1)

    assert (found.n, found.solved, found.passed) == (3, 1, 2)
    assert found.solve_rate == pytest.approx(1 / 3)
    assert found.pass_at_1 == pytest.approx(2 / 3)
    assert found.mean_turns == pytest.approx(25 / 3)
    assert found.turns == {5: 2, 15: 1}


def test_an_episode_that_the_endpoint_failed_counts_in_no_rate() -> None:
    played = [item(0, 1), item(0, 2, Outcome.ENDPOINT_ERROR)]
    (found,) = results(played, 1)

    assert (found.n, found.solved, found.errors) == (1, 1, 1)
    assert found.outcomes == {Outcome.SOLVED: 1, Outcome.ENDPOINT_ERROR: 1}


def test_nothing_played_has_no_rate() -> None:
    (found,) = results([], 1)

    assert found.solve_rate is None
    assert found.pass_at_1 is None
    assert found.interval == (0.0, 1.0)


def test_pass_at_1_weighs_mazes_alike_while_some_samples_are_missing() -> None:
    outcomes = [Outcome.SOLVED, Outcome.NO_STOP, Outcome.NO_STOP]
    played = [item(0, 1, outcome, sample=n) for n, outcome in enumerate(outcomes)]
    (found,) = results([*played, item(0, 2)], 1)

    assert found.pass_at_1 == pytest.approx((1 / 3 + 1) / 2)


def test_the_sentence_about_two_models() -> None:
    after_only, before_only, both = 12, 1, 50
    played = []
    for seed in range(64):
        before = before_only + both > seed
        after = before_only <= seed < before_only + both + after_only
        played += [
            item(0, seed, Outcome.SOLVED if before else Outcome.NO_STOP),
            item(1, seed, Outcome.SOLVED if after else Outcome.LOOPED),
        ]
    found = compare(played, range(64), before=0, after=1)

    assert found.count(Pairing.NONE) == 1
    assert found.words("A", "B") == (
        "B solves 11 more of 64 mazes than A (12 gained, 1 lost); McNemar p = 0.003"
    )
    assert found.short_words() == "+11 of 64 · 12 gained, 1 lost · p = 0.003"
    swapped = compare(played, range(64), before=1, after=0)
    assert swapped.words("B", "A").startswith("A solves 11 fewer of 64 mazes than B (1 gained, 12")


def test_only_mazes_that_both_have_played_are_compared() -> None:
    played = [item(0, 1), item(1, 1), item(0, 2), item(1, 2, Outcome.ENDPOINT_ERROR), item(1, 3)]
    found = compare(played, (1, 2, 3, 4), before=0, after=1)

    assert found.pairs[1] is Pairing.BOTH
    assert {found.pairs[seed] for seed in (2, 3, 4)} == {Pairing.OPEN}
    assert found.n == 1
    assert found.words("A", "B").startswith("B solves as many of 1 mazes as A (0 gained, 0 lost)")


def test_every_pair_of_results_has_its_name() -> None:
    seen = {}
    for before, after in product((Outcome.SOLVED, Outcome.NO_STOP), repeat=2):
        found = compare([item(0, 1, before), item(1, 1, after)], [1], before=0, after=1)
        seen[before is Outcome.SOLVED, after is Outcome.SOLVED] = found.pairs[1]

    assert seen == {
        (True, True): Pairing.BOTH,
        (True, False): Pairing.ONLY_BEFORE,
        (False, True): Pairing.ONLY_AFTER,
        (False, False): Pairing.NONE,
    }


@pytest.mark.parametrize(
    ("p", "words"),
    [(0.0004, "p < 0.001"), (0.0034, "p = 0.003"), (0.0625, "p = 0.062"), (1.0, "p = 1.00")],
)
def test_p_values_in_words(p: float, words: str) -> None:
    assert p_words(p) == words
