"""Batch sizes as whole numbers: whether they fit each other, and the nearest that do.

The formulas are those of SkyRL's `validate_batch_sizes`, floors included, and of its
`_remove_tail_data`, which drops the prompts that do not fill a stride.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd, isqrt, lcm

_MINI_REACH = 64
_TRAIN_REACH = 4
_LARGEST_DIVIDED = 10**6
# One mini-batch more or less changes training more than one prompt more or less.
_MINI_WEIGHT = 2.0
_MICRO_WEIGHT = 0.5
_SECOND_KEY = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Sizes in prompts, except `micro`, in samples on a GPU.

    `samples` is how many a prompt gets; `dp` the data parallel size of the policy, `ref_dp` and
    `critic_dp` those of models in use; `rows` how many prompts the data set has, if known.
    """

    train: int
    mini: int
    micro: int
    samples: int
    dp: int
    ref_dp: int | None = None
    critic_mini: int | None = None
    critic_dp: int | None = None
    rows: int | None = None

    @property
    def parallel(self) -> int:
        """Least common multiple of all data parallel sizes."""
        return lcm(self.dp, self.ref_dp or 1, self.critic_dp or 1)

    @property
    def stride(self) -> int:
        """Batches must hold a multiple of so many prompts, or SkyRL drops the rest."""
        return self.parallel // gcd(self.parallel, self.samples)

    def fits(self) -> bool:
        """Whether SkyRL accepts the sizes and the first step does not fail over them."""
        if min(self.mini, self.micro, self.dp, self.samples) <= 0:
            return False
        covered = self.train * self.samples >= lcm(self.dp, self.ref_dp or 1)
        in_data = self.rows is None or self.rows >= self.train
        return covered and in_data and self.train % self.stride == 0 and all(self._sides_fit())

    def _sides_fit(self) -> Iterator[bool]:
        yield self._side_fits(self.mini, self.dp)
        if self.critic_mini is not None:
            yield self._side_fits(self.critic_mini, self.critic_dp or 0)

    def _side_fits(self, mini: int, dp: int) -> bool:
        if mini <= 0 or dp <= 0 or self.train < mini or self.train % mini:
            return False
        each = mini * self.samples // dp
        return each > 0 and each % self.micro == 0 and self.train * self.samples // dp % each == 0


@lru_cache(maxsize=64)
def nearest_batches(batch: Batch) -> tuple[Batch, ...]:
    """Fitting sizes near `batch`: the nearest with fewer prompts, as many, and more.

    At most three, nearest first; train, mini-batch and micro-batch sizes may all differ, the first
    least reluctantly. Empty if none is near.
    """
    best: dict[int, tuple[float, Batch]] = {}
    for each in _around(batch):
        side = (each.train > batch.train) - (each.train < batch.train)
        cost = _distance(batch, each)
        if side not in best or cost < best[side][0]:
            best[side] = (cost, each)
    return tuple(each for _, each in sorted(best.values(), key=lambda pair: pair[0]))


def nearest_minis(batch: Batch) -> list[int]:
    """Mini-batch sizes below and above that fit all else as it is."""
    return _neighbours(
        batch.mini,
        (each for each in _divisors(batch.train) if replace(batch, mini=each).fits()),
    )


def nearest_critic_minis(batch: Batch) -> list[int]:
    """Mini-batch sizes of the critic, below and above, that fit all else as it is."""
    return _neighbours(
        batch.critic_mini or 0,
        (each for each in _divisors(batch.train) if replace(batch, critic_mini=each).fits()),
    )


def nearest_micros(batch: Batch) -> list[int]:
    """Micro-batch sizes below and above that fit all else as it is."""
    return _neighbours(
        batch.micro,
        (each for each in _micros(batch) if replace(batch, micro=each).fits()),
    )


def _around(batch: Batch) -> Iterator[Batch]:
    if min(batch.train, batch.dp, batch.samples) <= 0:
        return
    most = batch.train if batch.rows is None else min(batch.train, batch.rows)
    near = max(1, min(batch.mini, most))
    for mini in range(max(1, near - _MINI_REACH), near + _MINI_REACH + 1):
        step = lcm(mini, batch.stride, max(1, batch.critic_mini or 1))
        middle = most // step
        for times in range(max(1, middle - _TRAIN_REACH), middle + _TRAIN_REACH + 2):
            yield from _with_micro(replace(batch, train=times * step, mini=mini))


def _with_micro(batch: Batch) -> Iterator[Batch]:
    if batch.fits():
        yield batch
        return
    if not replace(batch, micro=1).fits():
        return
    smaller = [each for each in _micros(batch) if each < batch.micro or batch.micro <= 0]
    for micro in reversed(smaller):
        if (other := replace(batch, micro=micro)).fits():
            yield other
            return


def _micros(batch: Batch) -> list[int]:
    each = batch.mini * batch.samples // batch.dp if batch.dp > 0 else 0
    if batch.critic_mini is not None and (batch.critic_dp or 0) > 0:
        each = gcd(each, batch.critic_mini * batch.samples // (batch.critic_dp or 1))
    return _divisors(each)


def _distance(batch: Batch, other: Batch) -> float:
    changed = (other.train != batch.train) + (other.mini != batch.mini)
    return (
        _SECOND_KEY * (changed + (other.micro != batch.micro))
        + abs(other.train - batch.train) / max(1, batch.train)
        + _MINI_WEIGHT * abs(other.mini - batch.mini) / max(1, batch.mini)
        + _MICRO_WEIGHT * abs(other.micro - batch.micro) / max(1, batch.micro)
    )


def _divisors(number: int) -> list[int]:
    if not 0 < number <= _LARGEST_DIVIDED:
        return []
    small = [each for each in range(1, isqrt(number) + 1) if number % each == 0]
    return sorted({*small, *(number // each for each in small)})


def _neighbours(value: int, fitting: Iterable[int]) -> list[int]:
    found = list(fitting)
    below = max((each for each in found if each < value), default=None)
    above = min((each for each in found if each > value), default=None)
    return [each for each in (below, above) if each is not None]
