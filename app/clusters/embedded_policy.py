"""Whether `skydeck up` starts the embedded cluster. Pure; decided once a start.

Its jobs run as the service's own user. On one person's machine that is the point; where several
people share a database it is off unless somebody turns it on.
"""

from dataclasses import dataclass
from typing import Literal

_NAME = "SKYDECK_EMBEDDED_CLUSTER"


@dataclass(frozen=True, slots=True)
class Decision:
    """`why` is a sentence for people, without its full stop."""

    is_on: bool
    why: str


def decide(
    setting: Literal["auto", "on", "off"], *, is_postgres: bool, people_count: int
) -> Decision:
    """`people_count`: users that may sign in."""
    if setting == "off":
        return Decision(is_on=False, why=f"turned off by {_NAME}=off")
    is_team = is_postgres and people_count > 1
    if setting == "on":
        team = ", although a team shares this database" if is_team else ""
        return Decision(is_on=True, why=f"turned on by {_NAME}=on{team}")
    if is_team:
        return Decision(
            is_on=False,
            why=f"a team of {people_count} shares this database, and its jobs would run as the "
            f"service's own user; {_NAME}=on starts it all the same",
        )
    return Decision(is_on=True, why="one person's installation")
