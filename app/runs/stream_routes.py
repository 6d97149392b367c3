"""Live streams of a run: new points and evaluations, its status, lines of its log."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from app.db import Database, ReadSession
from app.logs import service as logs
from app.metrics import service as metrics
from app.models import Run
from app.routing import Router
from app.runs import log_lines, queue, service, views
from app.runs.loading import pushed_step
from app.runs.log_lines import AttemptNumber, LineNumber
from app.runs.states import ENDED
from app.web.deps import READ_RUN, RunReader, Store
from app.web.run_words import status_words
from app.web.sse import END, poll

router = Router()
_LINES_AT_ONCE = 1_000


async def _run(slug: str, store: Store, _viewer: RunReader) -> Run:
    """Looked up before the stream begins, so that an unknown run answers 404."""
    async with store.read() as session:
        return await service.get(session, slug)


StreamedRun = Annotated[Run, Depends(_run)]


@router.get("/runs/{slug}/stream", response_class=EventSourceResponse)
async def stream_run(
    request: Request, run: StreamedRun, store: Store
) -> AsyncIterator[ServerSentEvent]:
    """`series`, `evaluation` and `run` at first; each again when it changed; at last `end`."""
    follower = RunFollower(store, run.slug)
    async for event in poll(follower.look, stands=partial(READ_RUN.stands, request)):
        yield event


@router.get("/runs/{slug}/log/stream", response_class=EventSourceResponse)
async def stream_log(
    request: Request,
    run: StreamedRun,
    store: Store,
    attempt: AttemptNumber = None,
    from_line: LineNumber = None,
) -> AsyncIterator[ServerSentEvent]:
    """`lines` from number `from` on; the last one comes again while it grows."""
    follower = LogFollower(store, run.slug, attempt, from_line or 1)
    async for event in poll(follower.look, stands=partial(READ_RUN.stands, request)):
        yield event


@dataclass(slots=True)
class RunFollower:
    """What one reader of a run's page has been told. `cursors` by metric key.

    The first look tells all: `series` names each key with its cursor, so that a reader sees what
    came between its page and this stream, or while it had none. `end` comes only with a look
    that found nothing new, for what is stored last may come after the status.
    """

    database: Database
    slug: str
    cursors: dict[str, str] | None = None
    revision: int | None = None
    status: object = None
    evaluations: object = None

    async def look(self) -> list[ServerSentEvent]:
        async with self.database.read() as session:
            run = await service.get(session, self.slug)
            limit = await queue.sweep_limit(session, run)
            position = await queue.queue_position(session, run)
            counts = (await metrics.list_solve_counts(session, [run])).get(run.id, [])
            series = await self._series(session, run)
            step = await pushed_step(session, run)
        words = status_words(run, position=position, pushed_step=step, sweep_limit=limit)
        status = (run.status, words, run.conditions)
        events = [series] if series else []
        if self.evaluations != counts:
            events.append(ServerSentEvent(event="evaluation", data=views.hero_data(run, counts)))
        if self.status != status:
            events.append(ServerSentEvent(event="run", data={"status": run.status}))
        self.evaluations, self.status = counts, status
        if run.status in ENDED and not events:
            events.append(ServerSentEvent(event=END, data={"status": run.status}))
        return events

    async def _series(self, session: ReadSession, run: Run) -> ServerSentEvent | None:
        """Where all series stand, or the points of those that moved since the last look."""
        if run.metrics_revision == self.revision:
            return None
        known, new = self.cursors, await metrics.list_cursors(session, run)
        self.revision = run.metrics_revision
        if known is None:
            self.cursors = new
            return ServerSentEvent(event="series", data={"cursors": new})
        changed = [key for key, cursor in new.items() if known.get(key) != cursor]
        since = [known[key] for key in changed if key in known]
        found = await metrics.read_series(session, [run], changed, since=since)
        # Each with the cursor that its points follow, so that a reader sees a gap.
        rows: list[dict[str, Any]] = [
            views.points(view) | {"after": known.get(view.key)} for view in found
        ]
        known |= {view.key: view.cursor for view in found}
        return ServerSentEvent(event="points", data={"series": rows}) if rows else None


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
