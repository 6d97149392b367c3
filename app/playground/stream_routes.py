"""The live stream of an episode: what models say, while they say it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fastapi import Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from app.playground.deps import Texts
from app.playground.plain_text import MOST_MARKS, plain_text
from app.playground.under_way import Said, UnderWay
from app.routing import Router
from app.web.deps import READ_EPISODE, EpisodeReader
from app.web.sse import END, poll

router = Router()
PAUSE_SECONDS = 0.1
IDLE_LOOKS = 40
"""So many looks at nothing end the stream: it bridges the time between two turns of a play."""


@router.get("/playground/{slug}/stream", response_class=EventSourceResponse)
async def stream_episode(
    request: Request, slug: str, texts: Texts, _viewer: EpisodeReader
) -> AsyncIterator[ServerSentEvent]:
    """`words` while models answer, `done` when some have; `end` once nothing is asked any more."""
    follower = EpisodeFollower(texts, slug)
    stands = partial(READ_EPISODE.stands, request)
    async for event in poll(follower.look, stands=stands, pause=PAUSE_SECONDS):
        yield event


@dataclass(slots=True)
class _Told:
    """What a reader was told of one answer. `is_cut`: nothing more of it is shown."""

    said: Said
    length: int = 0
    marks: int = 0
    count: int = 0
    is_cut: bool = False


@dataclass(slots=True)
class EpisodeFollower:
    """What one reader of an episode's page has been told. Asks no database."""

    texts: UnderWay
    slug: str
    told: dict[int, _Told] = field(default_factory=dict)
    asked: frozenset[object] = frozenset()
    idle_looks: int = 0

    async def look(self) -> list[ServerSentEvent]:
        """`words`: of each lane `pieces` (text, what a mark stands for) to add to `start` ones."""
        requests = self.texts.of(self.slug)
        events = []
        if self.asked - requests.keys():
            events.append(ServerSentEvent(event="done", data={}))
        self.asked = frozenset(requests)
        lanes = [
            words
            for each in requests.values()
            for lane, said in each.lanes.items()
            if (words := self._words(lane, said)) is not None
        ]
        if lanes:
            events.append(ServerSentEvent(event="words", data={"lanes": lanes}))
        self.idle_looks = 0 if requests else self.idle_looks + 1
        if self.idle_looks > IDLE_LOOKS:
            events.append(ServerSentEvent(event=END, data={}))
        return events

    def _words(self, lane: int, said: Said) -> dict[str, Any] | None:
        """What is new of an answer, with nothing hidden in it; None if nothing is."""
        told = self.told.get(lane)
        if told is None or told.said is not said:
            told = self.told[lane] = _Told(said)
        if told.count == said.count:
            return None
        start, told.count = told.length, said.count
        pieces = [] if told.is_cut else self._pieces(told)
        return {"lane": lane, "start": start, "pieces": pieces, "more": said.count - told.length}

    def _pieces(self, told: _Told) -> list[tuple[str, str]]:
        new = told.said.text[told.length :]
        shown = plain_text(new, most_marks=MOST_MARKS - told.marks)
        told.is_cut = shown.omitted_count > 0
        told.length += len(new) - shown.omitted_count
        told.marks += sum(piece.is_mark for piece in shown.pieces)
        return [(piece.text, piece.name) for piece in shown.pieces]
