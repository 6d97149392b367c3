"""Several runs beside each other, all that needs no scipy. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from app.compare.asked import At
from app.compare.differences import Difference
from app.compare.groups import Group
from app.compare.measured import ComparedRun, Measured
from app.metrics.charts import HERO_KEY
from app.metrics.statistics import Paired, holm, p_words, pair_up

PASS_AT_1 = "eval/all/pass_at_1"  # noqa: S105 - a metric
_FIRST_CHOICES = (HERO_KEY, PASS_AT_1, "reward/avg_raw_reward")
_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Against:
    """A run against the first one, on the mazes that both played under the same terms.

    `pairs` None: there is nothing to compare, and `reason` says why. `adjusted` is the p-value
    by Holm over all runs that were tested.
    """

    pairs: Paired | None
    reason: str = ""
    adjusted: float = 1.0

    @property
    def is_significant(self) -> bool:
        return self.pairs is not None and self.adjusted < _LEVEL

    def short_words(self, tests: int) -> str:
        """`+11 of 64 · 12 gained, 1 lost · p = 0.003`, with Holm's p where there were several."""
        if self.pairs is None:
            return self.reason
        adjusted = f", {p_words(self.adjusted)} by Holm" if tests > 1 else ""
        return self.pairs.short_words() + adjusted


@dataclass(frozen=True)
class Comparison:
    """Runs in the order asked for; the first is what the others are held against.

    `keys` are metrics that runs have, those of most runs first. `metric` is what is looked at.
    """

    runs: Sequence[ComparedRun]
    differing: Sequence[Difference]
    keys: Sequence[str]
    metric: str
    at: At
    grouped_by: str
    groups: Sequence[Group]

    def values(self) -> list[float | None]:
        """The metric's best or last value of each run."""
        return [each.value(self.metric, self.at) for each in self.runs]

    def evaluation(self, run: ComparedRun) -> Measured | None:
        """The one that stands for the run."""
        return run.evaluation(self.at)

    @cached_property
    def against(self) -> list[Against]:
        """Each run but the first against the first."""
        first, *others = self.runs
        found = [_against(first, other, self.at) for other in others]
        tested = [place for place, each in enumerate(found) if each.pairs is not None]
        adjusted = holm([pairs.p_value for each in found if (pairs := each.pairs) is not None])
        for place, p_value in zip(tested, adjusted, strict=True):
            found[place] = Against(found[place].pairs, adjusted=p_value)
        return found

    @property
    def tests(self) -> int:
        return sum(each.pairs is not None for each in self.against)

    def significance(self) -> str:
        """In words: `B solves 11 more of 64 mazes than A (12 gained, 1 lost); McNemar p = 0.003`.

        Of many runs how many differ. Empty where no run was evaluated.
        """
        if all(each.last is None for each in self.runs):
            return ""
        if len(self.runs) == 2:
            only = self.against[0]
            return only.pairs.words("A", "B") if only.pairs else f"No test: {only.reason}"
        if not self.tests:
            return f"No test against A: {self.against[0].reason}"
        better = self._significant(more=True)
        worse = self._significant(more=False)
        return (
            f"Against A, {better} of {self.tests} runs did better and {worse} worse, by McNemar's "
            "exact test with Holm's correction at 5 %"
        )

    def _significant(self, *, more: bool) -> int:
        pairs = [each.pairs for each in self.against if each.is_significant and each.pairs]
        return sum((each.gained > each.lost) is more for each in pairs)


def choose_metric(asked: str, keys: Sequence[str]) -> str:
    """The metric asked for, else the solve rate, pass_at_1, the reward, or what most runs have."""
    if asked:
        return asked
    found = next((key for key in _FIRST_CHOICES if key in keys), "")
    return found or (keys[0] if keys else HERO_KEY)


def by_use(runs: Sequence[ComparedRun]) -> list[str]:
    """Metric keys, those that most runs have first, then by name."""
    counts = Counter(key for each in runs for key in each.summaries)
    return sorted(counts, key=lambda key: (-counts[key], key))


def _against(first: ComparedRun, other: ComparedRun, at: At) -> Against:
    one, two = first.evaluation(at), other.evaluation(at)
    if one is None or two is None:
        missing = first if one is None else other
        return Against(None, f"{missing.letter} has no evaluation whose mazes are known")
    if one.terms != two.terms:
        return Against(None, f"{other.letter} played another environment or turn limit")
    if not one.is_solved or not two.is_solved:
        return Against(None, "a maze was played several times: its episodes have no pairs")
    seeds = [seed for seed in one.is_solved if seed in two.is_solved]
    if not seeds:
        return Against(None, f"{other.letter} played other mazes")
    return Against(Paired(pairs=pair_up(one.is_solved, two.is_solved, seeds)))
