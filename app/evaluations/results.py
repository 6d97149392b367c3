"""What an evaluation says, computed from its played episodes. Pure: no database, no clock.

The solve rate counts episodes that stopped on the target; pass_at_1 is SkyRL's and counts a last
reward above zero. An episode that the endpoint failed says nothing of the model: it is in neither.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.episodes.states import Outcome
from app.metrics.statistics import Paired, mean_pass_at_k, pair_up, wilson_interval

NOT_COUNTED = frozenset({Outcome.ENDPOINT_ERROR, Outcome.STOPPED})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedItem:
    """One episode that has ended; `episode` is its slug, None where nothing was kept."""

    model_number: int
    seed: int
    sample: int
    outcome: Outcome
    is_solved: bool
    is_passed: bool
    turns: int
    reward: float
    episode: str | None = None
    message: str = ""

    @property
    def is_counted(self) -> bool:
        return self.outcome not in NOT_COUNTED


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResult:
    """One model on the set so far. Rates are None before the first episode.

    `n` episodes are counted, `errors` more were failed by the endpoint. `turns` are those of the
    counted episodes, by number of turns.
    """

    model_number: int
    n: int
    solved: int
    errors: int
    pass_at_1: float | None
    passed: int
    outcomes: dict[Outcome, int]
    turns: dict[int, int]

    @property
    def solve_rate(self) -> float | None:
        return self.solved / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of 95 %."""
        return wilson_interval(self.solved, self.n)

    @property
    def mean_turns(self) -> float | None:
        return sum(k * count for k, count in self.turns.items()) / self.n if self.n else None


@dataclass(slots=True)
class Counts:
    """Numbers of a model's episodes, for lists: what a query can count."""

    played: int = 0
    n: int = 0
    solved: int = 0
    total: int = 0

    def add(self, outcome: Outcome | None, count: int, solved: int) -> None:
        """Adds a group of episodes with the same outcome; None: not played."""
        self.total += count
        self.solved += solved
        self.played += count if outcome is not None else 0
        self.n += count if outcome is not None and outcome not in NOT_COUNTED else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Paired):
    """Two models, by their numbers, on the mazes that both have played."""

    before: int
    after: int


def results(items: Iterable[PlayedItem], model_count: int) -> list[ModelResult]:
    """One result a model, in order."""
    by_model: list[list[PlayedItem]] = [[] for _ in range(model_count)]
    for item in items:
        by_model[item.model_number].append(item)
    return [_result(number, found) for number, found in enumerate(by_model)]


def compare(
    items: Iterable[PlayedItem], seeds: Sequence[int], *, before: int, after: int
) -> Comparison:
    """Two models maze by maze. Only for one episode a maze: samples of a maze have no pairs."""
    solved: dict[int, dict[int, bool]] = {before: {}, after: {}}
    for item in items:
        if item.is_counted and item.model_number in solved:
            solved[item.model_number][item.seed] = item.is_solved
    pairs = pair_up(solved[before], solved[after], seeds)
    return Comparison(before=before, after=after, pairs=pairs)


def _result(number: int, items: Sequence[PlayedItem]) -> ModelResult:
    counted = [each for each in items if each.is_counted]
    return ModelResult(
        model_number=number,
        n=len(counted),
        solved=sum(each.is_solved for each in counted),
        errors=len(items) - len(counted),
        passed=sum(each.is_passed for each in counted),
        pass_at_1=_pass_at_1(counted),
        outcomes=dict(Counter(each.outcome for each in items)),
        turns=dict(sorted(Counter(each.turns for each in counted).items())),
    )


def _pass_at_1(items: Sequence[PlayedItem]) -> float | None:
    """The mean over mazes of the share of samples that passed: pass_at_k at k = 1."""
    by_seed: defaultdict[int, list[bool]] = defaultdict(list)
    for item in items:
        by_seed[item.seed].append(item.is_passed)
    return mean_pass_at_k(((len(each), sum(each)) for each in by_seed.values()), k=1)
