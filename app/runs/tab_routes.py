"""The tabs of a run: single charts and their points, log, config, timeline."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse

from app.clock import utcnow
from app.errors import NotFound
from app.logs import service as logs
from app.metrics import service as metrics
from app.metrics.charts import chart_for
from app.models import Run
from app.recipes import service as recipes
from app.runs import log_lines, service, views
from app.runs.contexts import ChartPage, ConfigPage, LogPage, RunHead, Tab, TimelinePage
from app.runs.loading import load_head
from app.web.deps import SignedIn, Store
from app.web.templating import page

router = APIRouter()
LOG_LINES = 400
POINTS = 1_000


@router.get("/runs/{slug}/points")
async def points(
    slug: str,
    store: Store,
    _viewer: SignedIn,
    key: Annotated[list[str], Query(max_length=100)],
    since: Annotated[list[str], Query(max_length=100)] = [],  # noqa: B006 - FastAPI copies it
) -> JSONResponse:
    """Points of some charts as columns, for `charts.js`."""
    async with store.read() as session:
        run = await service.get(session, slug)
        found = await metrics.read_series(session, [run], key, max_points=POINTS, since=since)
    return JSONResponse({"series": [views.points(view) for view in found]})


@router.get("/runs/{slug}/charts/{key:path}")
async def show_chart(
    request: Request, slug: str, key: str, store: Store, _viewer: SignedIn
) -> HTMLResponse:
    async with store.read() as session:
        run, head = await load_head(session, slug, tab="Charts")
        found = await metrics.read_series(session, [run], [key], max_points=POINTS)
    if not found:
        raise NotFound(f"this run has logged no metric named {key}")
    view = found[0]
    steps, values = view.columns.steps.tolist(), view.columns.values.tolist()
    context = ChartPage(
        head=head,
        card=views.chart_card(run, chart_for(key), values[-1]),
        data=views.points(view),
        rows=list(zip(reversed(steps), reversed(values), strict=True)),
        sampled=view.is_sampled,
    )
    return page(request, "runs/chart.html", context)


@router.get("/runs/{slug}/log")
async def show_log(
    request: Request,
    slug: str,
    store: Store,
    _viewer: SignedIn,
    attempt: Annotated[int | None, Query(ge=1)] = None,
    from_line: Annotated[int | None, Query(alias="from", ge=1)] = None,
) -> HTMLResponse:
    async with store.read() as session:
        run, head = await load_head(session, slug, tab="Log")
        found = await logs.read_lines(
            session, run, attempt=attempt, from_line=from_line, limit=LOG_LINES
        )
    chosen = attempt or (run.attempts[-1].number if run.attempts else None)
    return page(request, "runs/log.html", _log_page(run, head, found, chosen))


@router.get("/runs/{slug}/log.txt")
async def whole_log(
    slug: str,
    store: Store,
    _viewer: SignedIn,
    attempt: Annotated[int | None, Query(ge=1)] = None,
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
async def show_config(request: Request, slug: str, store: Store, _viewer: SignedIn) -> HTMLResponse:
    async with store.read() as session:
        run, head = await load_head(session, slug, tab="Config")
    config = run.config
    try:
        recipe = recipes.get(config.recipe)
    except NotFound:
        # A run that is fed from outside, or a recipe that a later version dropped.
        recipe = None
    context = ConfigPage(
        head=head,
        recipe=f"{config.recipe} v{config.recipe_version}",
        digest=config.digest,
        groups=views.config_groups(config.values, recipe),
        command=views.script(config, recipe),
    )
    return page(request, "runs/config.html", context)


@router.get("/runs/{slug}/timeline")
async def show_timeline(
    request: Request, slug: str, store: Store, _viewer: SignedIn
) -> HTMLResponse:
    async with store.read() as session:
        run, head = await load_head(session, slug, tab="Timeline")
        events = await service.list_events(session, run)
    context = TimelinePage(head, views.attempts(run, utcnow()), views.timeline(events.items))
    return page(request, "runs/timeline.html", context)


def _log_page(run: Run, head: RunHead, found: logs.LogPage, attempt: int | None) -> LogPage:
    url = f"/runs/{run.slug}/log"
    first = found.lines[0].number if found.lines else 1
    last = found.lines[-1].number if found.lines else 0
    is_at_end = last >= found.total_lines
    older, newer = max(1, first - LOG_LINES), last + 1
    return LogPage(
        head=head,
        lines=[log_lines.show(line) for line in found.lines],
        total_lines=found.total_lines,
        attempts=[
            Tab(f"Attempt {row.number}", _link(url, attempt=row.number), row.number == attempt)
            for row in run.attempts
        ],
        older_url=_link(url, attempt=attempt, start=older) if first > 1 else "",
        newer_url="" if is_at_end else _link(url, attempt=attempt, start=newer),
        whole_url=_link(f"{url}.txt", attempt=attempt),
        stream_url=_link(f"{url}/stream", attempt=attempt, start=newer)
        if head.is_live and is_at_end
        else "",
    )


def _link(path: str, *, attempt: int | None, start: int | None = None) -> str:
    query = {"attempt": attempt, "from": start}
    given = {name: value for name, value in query.items() if value is not None}
    return path + ("?" + urlencode(given) if given else "")
