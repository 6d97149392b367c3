"""One run of a comparison: what it was measured to do. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from app.compare.asked import At
from app.compare.repository import Summary
from app.maze.solve import count_solvable
from app.metrics.statistics import mean_pass_at_k, wilson_interval
from app.models import Run, TrainingEvaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One evaluation of a run. The solve rate counts mazes whose goal was reached, `passed` counts
    last rewards above zero: SkyRL's pass_at_1, which format credit alone can earn.

    `is_solved` is by seed, and empty where a maze was played several times: such samples have no
    pairs. `samples` are (episodes, passes) of each maze. `returns` are the finite rewards.
    """

    step: int
    env_id: str
    max_turns: int | None
    n: int
    solved: int
    passed: int
    is_solved: Mapping[int, bool]
    samples: Sequence[tuple[int, int]]
    returns: tuple[float, ...]
    return_by_seed: Mapping[int, float]

    @property
    def solve_rate(self) -> float | None:
        return self.solved / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of 95 % of the solve rate."""
        return wilson_interval(self.solved, self.n)

    @property
    def terms(self) -> tuple[str, int | None]:
        """What must be the same for two evaluations to be compared maze by maze."""
        return self.env_id, self.max_turns

    @property
    def most_samples(self) -> int:
        """How often each maze was played at least: up to there pass_at_k is defined."""
        return min((n for n, _ in self.samples), default=0)

    def pass_at(self, k: int) -> float | None:
        """pass_at_k, unbiased, averaged over the mazes; None where none was played so often."""
        return mean_pass_at_k(self.samples, k=k) if 1 <= k <= self.most_samples else None

    @property
    def solvable(self) -> int | None:
        """How many of its mazes can be solved within the turn limit at all; None if unknown."""
        if self.max_turns is None or not self.is_solved:
            return None
        return _solvable(self.env_id, tuple(self.is_solved), self.max_turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """A run with its last and its best evaluation. `summaries` are by metric key.

    `gpus` is None where nobody here knows; `gpu_seconds` is that of all its attempts so far.
    """

    run: Run
    letter: str
    gpus: int | None
    gpu_seconds: float | None
    last: Measured | None = None
    best: Measured | None = None
    evaluation_count: int = 0
    summaries: Mapping[str, Summary] = field(default_factory=dict)

    def value(self, metric: str, at: At) -> float | None:
        """The best or the last value of a metric."""
        found = self.summaries.get(metric)
        return None if found is None else found.best if at is At.BEST else found.last

    def evaluation(self, at: At) -> Measured | None:
        """The best or the last evaluation whose mazes are known."""
        return self.best if at is At.BEST else self.last


def measured(row: TrainingEvaluation) -> Measured:
    """Reads an evaluation's items, which a dump of any quality made."""
    by_seed: defaultdict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for item in row.items:
        if isinstance(seed := item.get("seed"), int):
            by_seed[seed].append(item)
    is_single = all(len(items) == 1 for items in by_seed.values())
    singles = {seed: items[0] for seed, items in by_seed.items()} if is_single else {}
    rewards = {seed: _number(item.get("reward")) for seed, item in singles.items()}
    found = [_number(item.get("reward")) for item in row.items]
    return Measured(
        step=row.step,
        env_id=row.env_id,
        max_turns=row.max_turns,
        n=row.n,
        solved=row.solved_count,
        passed=row.passed_count,
        is_solved={seed: bool(item.get("solved")) for seed, item in singles.items()},
        samples=[
            (len(items), sum(bool(item.get("passed")) for item in items))
            for items in by_seed.values()
        ],
        returns=tuple(reward for reward in found if reward is not None),
        return_by_seed={seed: reward for seed, reward in rewards.items() if reward is not None},
    )


@lru_cache(maxsize=256)
def _solvable(env_id: str, seeds: tuple[int, ...], max_turns: int) -> int | None:
    try:
        return count_solvable(env_id, seeds, max_turns=max_turns)
    except ValueError:
        return None


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None
