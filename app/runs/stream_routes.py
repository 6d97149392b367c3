"""Live streams of a run: new points and evaluations, its status, lines of its log."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent

from app.db import Database
from app.logs import service as logs
from app.metrics import service as metrics
from app.models import Run
from app.runs import log_lines, service, views
from app.runs.loading import load_of
from app.runs.states import ENDED
from app.runs.words import status_words
from app.web.deps import SignedIn, Store
from app.web.sse import END, poll

router = APIRouter()
_LINES_AT_ONCE = 1_000


async def _run(slug: str, store: Store, _viewer: SignedIn) -> Run:
    """Looked up before the stream begins, so that an unknown run answers 404."""
    async with store.read() as session:
        return await service.get(session, slug)


StreamedRun = Annotated[Run, Depends(_run)]


@router.get("/runs/{slug}/stream", response_class=EventSourceResponse)
async def stream_run(run: StreamedRun, store: Store) -> AsyncIterator[ServerSentEvent]:
    """`run` when its status line changed, `points`, `evaluation`, and `end`."""
    async with store.read() as session:
        follower = RunFollower(store, run.slug, await metrics.list_cursors(session, run))
    async for event in poll(follower.look):
        yield event


@router.get("/runs/{slug}/log/stream", response_class=EventSourceResponse)
async def stream_log(
    run: StreamedRun,
    store: Store,
    attempt: Annotated[int | None, Query(ge=1)] = None,
    from_line: Annotated[int, Query(alias="from", ge=1)] = 1,
) -> AsyncIterator[ServerSentEvent]:
    """`lines` from number `from` on; the last one comes again while it grows."""
    follower = LogFollower(store, run.slug, attempt, from_line)
    async for event in poll(follower.look):
        yield event


@dataclass(slots=True)
class RunFollower:
    """What one reader of a run's page has been told. `cursors` by metric key.

    The first look tells of status and evaluations anyhow: they may have changed since the page
    was made.
    """

    database: Database
    slug: str
    cursors: dict[str, str]
    status: object = None
    evaluation_count: int = 0

    async def look(self) -> list[ServerSentEvent]:
        async with self.database.read() as session:
            run = await service.get(session, self.slug)
            load = load_of(run, await service.loads(session))
            new = await metrics.list_cursors(session, run)
            changed = [key for key, cursor in new.items() if self.cursors.get(key) != cursor]
            since = [self.cursors[key] for key in changed if key in self.cursors]
            found = await metrics.read_series(session, [run], changed, since=since)
            counts = (await metrics.list_solve_counts(session, [run])).get(run.id, [])
        events = [self._points(found)] if found else []
        if self.evaluation_count != len(counts):
            events.append(ServerSentEvent(event="evaluation", data=views.hero_data(run, counts)))
        self.evaluation_count = len(counts)
        status = (run.status, status_words(run, position=load.position(run.id)), run.conditions)
        if self.status != status:
            events.append(ServerSentEvent(event="run", data={"status": run.status}))
        self.status = status
        if run.status in ENDED:
            events.append(ServerSentEvent(event=END, data={"status": run.status}))
        return events

    def _points(self, found: list[metrics.SeriesView]) -> ServerSentEvent:
        """Each series with the cursor that its points follow, so that a reader sees a gap."""
        rows = [views.points(view) | {"after": self.cursors.get(view.key)} for view in found]
        self.cursors |= {view.key: view.cursor for view in found}
        return ServerSentEvent(event="points", data={"series": rows})


@dataclass(slots=True)
class LogFollower:
    """How far one reader has followed a log. The line `next_line` may have been sent in part."""

    database: Database
    slug: str
    attempt: int | None
    next_line: int
    byte_count: int = field(default=-1)

    async def look(self) -> list[ServerSentEvent]:
        async with self.database.read() as session:
            run = await service.get(session, self.slug)
            stream = await logs.find_stream(session, run, self.attempt)
            is_over = run.status in ENDED and (stream is None or stream.is_complete)
            if stream is None or stream.n_bytes == self.byte_count:
                return [ServerSentEvent(event=END, data={})] if is_over else []
            page = await logs.read_lines(
                session,
                run,
                attempt=self.attempt,
                from_line=self.next_line,
                limit=_LINES_AT_ONCE,
            )
        is_caught_up = len(page.lines) < _LINES_AT_ONCE
        self.byte_count = stream.n_bytes if is_caught_up else -1
        if not page.lines:
            return []
        self.next_line = page.lines[-1].number
        shown = [log_lines.show(line) for line in page.lines]
        data = {
            "total": page.total_lines,
            "lines": [
                {"number": line.number, "pieces": line.pieces, "is_step": line.is_step}
                for line in shown
            ],
        }
        return [ServerSentEvent(event="lines", data=data)]
