"""What the address of a comparison asks for. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from urllib.parse import urlencode

LEAST, MOST = 2, 100
"""How many runs are compared."""
NO_GROUPS, BY_SEED, BY_TAG, BY_EXPERIMENT = "none", "seeds", "tag", "experiment"
CONFIG = "config:"


class At(StrEnum):
    """Which evaluation and which value of a metric stands for a run."""

    LAST = "last"
    BEST = "best"


@dataclass(frozen=True, slots=True)
class Asked:
    """Which runs, by which metric. Empty text: what suits the runs.

    `group` is one of the words above or `config:<key>`; `config` is the config key of the scatter.
    """

    runs: tuple[str, ...] = ()
    metric: str = ""
    at: At = At.LAST
    group: str = ""
    config: str = ""

    def query(self) -> list[tuple[str, str]]:
        """As the address says it, without what is not asked for."""
        at = "" if self.at is At.LAST else self.at.value
        pairs = [
            ("metric", self.metric),
            ("at", at),
            ("group", self.group),
            ("config", self.config),
        ]
        return [("run", run) for run in self.runs] + [pair for pair in pairs if pair[1]]

    def url(self, path: str = "/compare") -> str:
        text = urlencode(self.query())
        return f"{path}?{text}" if text else path

    def of(self, runs: Sequence[str]) -> "Asked":
        """The same of other runs."""
        return replace(self, runs=tuple(runs))


def letter_of(number: int) -> str:
    """A, B, … Z, AA, AB, … of 0, 1, …; short names of runs in tables and sentences."""
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("A") + rest) + text
    return text
