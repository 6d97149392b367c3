"""Two that played the same mazes, pair by pair, and what McNemar's exact test says of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.metrics.statistics.shares import mcnemar_exact


class Pairing(StrEnum):
    """How two models did on the same maze."""

    BOTH = "both"
    ONLY_AFTER = "only_after"
    ONLY_BEFORE = "only_before"
    NONE = "none"
    OPEN = "open"
    """Not played by both yet, or failed by an endpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Two models, or two checkpoints, on the mazes that both have played."""

    pairs: dict[int, Pairing]
    """By seed."""

    def count(self, pairing: Pairing) -> int:
        return sum(each is pairing for each in self.pairs.values())

    @property
    def n(self) -> int:
        return len(self.pairs) - self.count(Pairing.OPEN)

    @property
    def gained(self) -> int:
        return self.count(Pairing.ONLY_AFTER)

    @property
    def lost(self) -> int:
        return self.count(Pairing.ONLY_BEFORE)

    @property
    def p_value(self) -> float:
        return mcnemar_exact(self.gained, self.lost)

    def short_words(self) -> str:
        """`+11 of 64 · 12 gained, 1 lost · p = 0.003`."""
        if not self.n:
            return "no maze was played by both yet"
        difference = f"{self.gained - self.lost:+d}".replace("-", "−").replace("+0", "±0")
        counts = f"{self.gained} gained, {self.lost} lost"
        return f"{difference} of {self.n} · {counts} · {p_words(self.p_value)}"

    def words(self, before: str, after: str) -> str:
        """`B solves 11 more of 64 mazes than A (12 gained, 1 lost); McNemar p = 0.003`."""
        if not self.n:
            return "No maze was played by both yet."
        difference = self.gained - self.lost
        how = f"({self.gained} gained, {self.lost} lost); McNemar {p_words(self.p_value)}"
        if difference == 0:
            return f"{after} solves as many of {self.n} mazes as {before} {how}"
        more = "more" if difference > 0 else "fewer"
        return f"{after} solves {abs(difference)} {more} of {self.n} mazes than {before} {how}"


def pair_up(
    before: Mapping[int, bool], after: Mapping[int, bool], seeds: Iterable[int]
) -> dict[int, Pairing]:
    """By seed, from whether each of the two solved it."""
    return {seed: _pairing(before.get(seed), after.get(seed)) for seed in seeds}


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values of several tests at once, in their order, adjusted so that the chance of any
    false discovery among them stays below the level that they are held against.

    Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
    Journal of Statistics 6 (1979).
    """
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    by_size = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, place in enumerate(by_size):
        largest = max(largest, (len(p_values) - rank) * p_values[place])
        adjusted[place] = min(1.0, largest)
    return adjusted


def p_words(p: float) -> str:
    """`p = 0.003`, `p < 0.001`, never more digits than are worth reading."""
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def _pairing(before: bool | None, after: bool | None) -> Pairing:
    if before is None or after is None:
        return Pairing.OPEN
    if before and after:
        return Pairing.BOTH
    if after:
        return Pairing.ONLY_AFTER
    return Pairing.ONLY_BEFORE if before else Pairing.NONE
