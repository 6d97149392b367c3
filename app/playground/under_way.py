"""What models have said so far of the turns that this process asks for. In memory, pure.

A turn is one request to one web process, which can show its text before it is stored. Behind
several web processes a second viewer who is served by another one sees the turn when it is done.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

from app.playground.plain_text import MOST_CHARACTERS

_NOTHING: Mapping[object, "Asked"] = MappingProxyType({})


@dataclass(slots=True)
class Said:
    """An answer under way: `count` characters came, and `text` keeps the first of them."""

    text: str = ""
    count: int = 0

    def add(self, piece: str) -> None:
        self.text += piece[: MOST_CHARACTERS - len(self.text)]
        self.count += len(piece)


@dataclass(slots=True)
class Asked:
    """One request for turns: what each lane has said, by number; nothing before its first word."""

    lanes: dict[int, Said] = field(default_factory=dict)

    def take(self, lane: int, piece: str) -> None:
        self.lanes.setdefault(lane, Said()).add(piece)


class UnderWay:
    """The requests that are under way, by episode. At most 4,000 characters a lane are kept."""

    def __init__(self) -> None:
        self._episodes: dict[str, dict[object, Asked]] = {}

    @contextmanager
    def asking(self, slug: str) -> Iterator[Callable[[int, str], None]]:
        """Takes (lane, piece of text) within the block, and forgets it all afterwards."""
        key, asked = object(), Asked()
        self._episodes.setdefault(slug, {})[key] = asked
        try:
            yield asked.take
        finally:
            rest = self._episodes[slug]
            del rest[key]
            if not rest:
                del self._episodes[slug]

    def of(self, slug: str) -> Mapping[object, Asked]:
        """The requests for turns of an episode, by a key of each; empty if nothing is asked."""
        return self._episodes.get(slug, _NOTHING)
