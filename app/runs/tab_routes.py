"""The tabs of a run: single charts and their points, log, config, timeline."""

from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from app.clock import utcnow
from app.code import service as code
from app.errors import NotFound
from app.logs import service as logs
from app.metrics import service as metrics
from app.metrics.charts import chart_for
from app.models import Run
from app.routing import Router
from app.runs import job_package, log_lines, service, views
from app.runs.contexts import (
    ChartPage,
    LogLine,
    LogPage,
    RunHead,
    Tab,
    TimelinePage,
)
from app.runs.loading import load_head
from app.runs.log_lines import AttemptNumber, LineNumber
from app.web.chart_board import ChartRun, LiveBy, board, csv_url, panel
from app.web.deps import Config, RunReader, Store
from app.web.paging import Cursor, pager
from app.web.search import SearchWords
from app.web.templating import page

router = Router()
LOG_LINES = 400
POINTS = 1_000
EVENTS = 100
_CONTEXT_LINES = 20


@router.get("/runs/{slug}/chart")
async def show_chart(
    request: Request, slug: str, key: str, store: Store, viewer: RunReader
) -> HTMLResponse:
    async with store.read() as session:
        run, head = await load_head(session, slug, viewer, tab="Charts")
        found = await metrics.read_series(session, [run], [key], max_points=POINTS)
    if not found:
        raise NotFound(f"this run has logged no metric named {key}")
    view = found[0]
    steps, values = view.columns.steps.tolist(), view.columns.values.tolist()
    total = views.planned_steps(run)
    context = ChartPage(
        head=head,
        panel=panel([slug], chart_for(key), last=values[-1]),
        board=board([ChartRun.of(run)], [key], live=LiveBy.STREAM, total=total),
        rows=list(zip(reversed(steps), reversed(values), strict=True)),
        sampled=view.is_sampled,
        csv_url=csv_url([slug], [key]),
    )
    return page(request, "runs/chart.html", context)


@router.get("/runs/{slug}/log")
async def show_log(
    request: Request,
    slug: str,
    store: Store,
    viewer: RunReader,
    attempt: AttemptNumber = None,
    from_line: LineNumber = None,
    q: SearchWords = "",
) -> HTMLResponse:
    """The last lines, those from a number on, or those that contain `q`."""
    words = q.strip()
    async with store.read() as session:
        run, head = await load_head(session, slug, viewer, tab="Log")
        found = await logs.read_lines(
            session, run, attempt=attempt, from_line=from_line, limit=LOG_LINES, q=words
        )
    chosen = attempt or (run.attempts[-1].number if run.attempts else None)
    build = _search_page if words else _log_page
    return page(request, "runs/log.html", build(_Log(run, head, found, chosen, words)))


@router.get("/runs/{slug}/log.txt")
async def whole_log(
    slug: str,
    store: Store,
    _viewer: RunReader,
    attempt: AttemptNumber = None,
) -> Response:
    """The log's bytes as they were written."""
    async with store.read() as session:
        run = await service.get(session, slug)
        stream = await logs.find_stream(session, run, attempt)
    headers = {"Content-Disposition": f'attachment; filename="{slug}.log"'}
    if stream is None:
        return Response(b"", media_type="text/plain", headers=headers)
    body = logs.iter_bytes(store, stream.id)
    return StreamingResponse(body, media_type="text/plain", headers=headers)


@router.get("/runs/{slug}/config")
async def show_config(request: Request, slug: str, store: Store, viewer: RunReader) -> HTMLResponse:
    async with store.read() as session:
        run, head = await load_head(session, slug, viewer, tab="Config")
    return page(request, "runs/config.html", job_package.config_page(run, head))


@router.get("/runs/{slug}/package.zip")
async def download_package(
    slug: str, store: Store, settings: Config, _viewer: RunReader
) -> StreamingResponse:
    """The folder that the run's job is submitted from, with the code that was uploaded for it."""
    async with store.read() as session:
        run = await service.get(session, slug)
        upload = await code.find_for_job(session, run.project_id, run.config.values)
    body = await job_package.open_package(store, settings.home, run, upload)
    headers = {"Content-Disposition": f'attachment; filename="{slug}.zip"'}
    return StreamingResponse(body, media_type="application/zip", headers=headers)


@router.get("/runs/{slug}/timeline")
async def show_timeline(
    request: Request, slug: str, store: Store, viewer: RunReader, cursor: Cursor = None
) -> HTMLResponse:
    async with store.read() as session:
        run, head = await load_head(session, slug, viewer, tab="Timeline")
        events = await service.list_events(
            session, run, limit=EVENTS, cursor=cursor, newest_first=True
        )
    context = TimelinePage(
        head=head,
        attempts=views.attempts(run, utcnow()),
        events=views.timeline(events.items),
        pager=pager(f"/runs/{slug}/timeline", {}, cursor=cursor, next_cursor=events.next_cursor),
    )
    return page(request, "runs/timeline.html", context)


@dataclass(frozen=True, slots=True)
class _Log:
    """What was read of a log, and what was asked for."""

    run: Run
    head: RunHead
    found: logs.LogPage
    attempt: int | None
    query: str

    @property
    def url(self) -> str:
        return f"/runs/{self.run.slug}/log"

    def link(self, path: str = "", *, start: int | None = None, query: str = "") -> str:
        given = {"attempt": self.attempt, "from": start, "q": query or None}
        kept = {name: value for name, value in given.items() if value is not None}
        return f"{self.url}{path}" + ("?" + urlencode(kept) if kept else "")

    def page(
        self, lines: list[LogLine], *, older: str = "", newer: str = "", stream: str = ""
    ) -> LogPage:
        return LogPage(
            head=self.head,
            query=self.query,
            attempt=self.attempt,
            log_url=self.url,
            lines=lines,
            total_lines=self.found.total_lines,
            attempts=[
                Tab(f"Attempt {n}", f"{self.url}?attempt={n}", n == self.attempt)
                for n in (row.number for row in self.run.attempts)
            ],
            older_url=older,
            newer_url=newer,
            whole_url=self.link(".txt"),
            stream_url=stream,
        )


def _log_page(log: _Log) -> LogPage:
    found = log.found
    first = found.lines[0].number if found.lines else 1
    last = found.lines[-1].number if found.lines else 0
    is_at_end = last >= found.total_lines
    # From the last line, not after it: it may have been read while it was written.
    stream = log.link("/stream", start=max(1, last))
    return log.page(
        [log_lines.show(line) for line in found.lines],
        older=log.link(start=max(1, first - LOG_LINES)) if first > 1 else "",
        newer="" if is_at_end else log.link(start=last + 1),
        stream=stream if log.head.is_live and is_at_end else "",
    )


def _search_page(log: _Log) -> LogPage:
    """Each line leads to its place in the whole log, with some lines before it."""
    lines = [
        log_lines.show(line, url=log.link(start=max(1, line.number - _CONTEXT_LINES)))
        for line in log.found.lines
    ]
    on = log.found.next_line
    return log.page(lines, newer=log.link(start=on, query=log.query) if on else "")
