"""Dumps of evaluations: scores, turns, damage."""

import json

import pytest

from app.logs.parsers.eval_dump import MAX_EPISODES, dump_step, parse_eval_dump


def row(score: object, *, response: str = "go", **extras: object) -> bytes:
    return json.dumps(
        {
            "output_response": response,
            "score": score,
            "stop_reason": "stop",
            "env_class": "visgym",
            "env_extras": extras,
        }
    ).encode()


@pytest.mark.parametrize(
    ("score", "is_solved", "is_passed"),
    [
        ([0.0, 0.0, 1.0], True, True),
        ([0.0, 0.8], True, True),
        ([0.0, 0.0133], False, True),
        ([0.9, 0.0], True, False),
        ([0.0], False, False),
        ([], False, False),
        (1.0, True, True),
    ],
)
def test_solved_and_passed_are_two_things(score: object, is_solved: bool, is_passed: bool) -> None:
    (episode,) = parse_eval_dump(row(score)).episodes

    assert (episode.is_solved, episode.is_passed) == (is_solved, is_passed)


@pytest.mark.parametrize("score", ["NaN", "Infinity", "[-Infinity, 1.0]", "1e400", "[1e308,1e308]"])
def test_a_score_that_is_no_finite_number_is_none(score: str) -> None:
    (episode,) = parse_eval_dump(f'{{"score": {score}}}'.encode()).episodes

    assert (episode.score_sum, episode.is_solved, episode.is_passed) == (None, False, False)


def test_what_no_column_holds_is_cut_or_dropped() -> None:
    env_id = "\0\ud800" + "m" * 100
    data = row(1.0, seed=2**70, max_turns=2**40, visgym_env_id=env_id)
    (episode,) = parse_eval_dump(data).episodes

    assert (episode.seed, episode.max_turns) == (None, None)
    assert episode.env_id == "?" + "m" * 63


def test_a_dump_without_end_is_cut() -> None:
    dump = parse_eval_dump(b'{"score": 1}\n' * (MAX_EPISODES + 2))

    assert (len(dump.episodes), dump.damaged_count) == (MAX_EPISODES, 2)


def test_turns_and_extras() -> None:
    response = "a<|im_end|><|im_end|>\n<|im_start|>user\nb<|im_start|>assistant\nc<|im_end|>"
    data = row([1.0], response=response, seed=5, max_turns=15, visgym_env_id="maze_2d/easy")
    (episode,) = parse_eval_dump(data + b"\n").episodes

    assert (episode.turns, episode.seed, episode.max_turns) == (2, 5, 15)
    assert episode.env_id == "maze_2d/easy"


def test_rows_without_seed_or_answer() -> None:
    (episode,) = parse_eval_dump(row([0.0], response="")).episodes

    assert (episode.turns, episode.seed, episode.max_turns) == (0, None, None)
    assert episode.env_id == "visgym"


def test_damaged_lines_are_counted_and_cost_only_themselves() -> None:
    damaged = [b'{"score": [1.0', b"[]", b"{}", b"\xff\xfe", b'{"score": "x"}', b"[" * 100_000]
    dump = parse_eval_dump(b"\n".join([row([1.0]), *damaged, b"", row([0.0])]))

    assert (len(dump.episodes), dump.damaged_count) == (2, len(damaged))
    assert (dump.solved_count, dump.passed_count) == (1, 1)


@pytest.mark.parametrize(
    ("path", "step"),
    [
        ("/r/dumped_evals/global_step_40_evals", 40),
        ("/r/dumped_evals/global_step_40_evals/", 40),
        ("/r/dumped_evals/global_step_40_evals/unknown.jsonl", 40),
        ("/r/global_step_9_evals/dumped_evals/global_step_4_evals/unknown.jsonl", 4),
        ("/r/global_step_9_evals/global_step_4_evals", 4),
        ("/r/global_step_9/dumped_evals/eval_only/unknown.jsonl", None),
        ("/r/global_step_9_evals/x/y.jsonl", None),
        ("", None),
    ],
)
def test_step_comes_from_the_folder_alone(path: str, step: int | None) -> None:
    assert dump_step(path) == step
