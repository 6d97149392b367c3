"""The table of runs: the page, its CSV file, its column picker and its saved views."""

from collections.abc import Mapping, Sequence
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Form, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from app.access.permissions import Permission
from app.api.compress import compressed
from app.db import ReadSession
from app.errors import Invalid
from app.metrics import service as metrics
from app.models import RunOrigin, RunStatus
from app.projects import service as projects
from app.routing import Router
from app.runs import queue, saved_views, table, table_views
from app.runs.filter_language import fields_in
from app.runs.listing import Wanted
from app.runs.loading import embedded_line
from app.runs.queue import ClusterLoad
from app.runs.shown import ShownRun
from app.runs.table_contexts import ColumnPicker, RunsPage
from app.runs.table_csv import csv_of
from app.runs.table_views import ARCHIVED, PINNED, STATUSES, Asked
from app.web.cluster_line import load_of
from app.web.deps import Reader, SignedIn, Store, Viewer
from app.web.flash import flash
from app.web.htmx import HtmxRequest
from app.web.paging import Cursor, pager
from app.web.run_table import RunRow, run_row, shown_row
from app.web.search import SearchWords
from app.web.templating import fragment, page

router = Router()
PAGE_SIZE = 100
_LENGTH = 2_000


async def asked(
    project: str = "",
    q: SearchWords = "",
    status: str = "",
    sweep: SearchWords = "",
    filter_text: Annotated[str, Query(alias="filter", max_length=_LENGTH)] = "",
    sort: Annotated[str, Query(max_length=600)] = "",
    column: Annotated[list[str] | None, Query(max_length=table.MAX_COLUMNS)] = None,
    group: Annotated[str, Query(max_length=600)] = "",
) -> Asked:
    """What the address of the page asks for."""
    known = status if status in STATUSES else ""
    return Asked(
        project=project,
        words=q,
        status=known,
        sweep=sweep,
        filter=filter_text.strip(),
        sort=sort,
        columns=tuple(column or ()),
        group=group,
    )


Wishes = Annotated[Asked, Depends(asked)]


@router.get("/runs")
async def list_runs(
    request: Request,
    store: Store,
    htmx: HtmxRequest,
    viewer: Reader,
    wishes: Wishes,
    cursor: Cursor = None,
) -> HTMLResponse:
    problem, rows, groups, following = "", list[RunRow](), list[table.Group](), None
    cells: Sequence[Sequence[table.Cell]] = ()
    async with store.read() as session:
        allowed = await projects.narrow(session, viewer.principal, wishes.project)
        # The table alone, which asks again every few seconds, shows neither.
        line = None if htmx.is_fragment else await embedded_line(session)
        views = [] if htmx.is_fragment else await saved_views.list_of(session, viewer.user)
        try:
            columns = table.parse_columns(wishes.columns)
            wanted = _wanted(wishes, allowed)
            if wishes.group:
                groups = await table.group(session, wanted, wishes.group, columns)
            else:
                found = await table.list_rows(
                    session, wanted, columns, limit=PAGE_SIZE, cursor=cursor
                )
                rows = await _rows(session, found.items, viewer, wishes.project)
                cells, following = [row.cells for row in found.items], found.next_cursor
        except Invalid as error:
            problem, columns = error.message, []
    context = RunsPage(
        rows=rows,
        cells=table_views.words_of(cells),
        heads=table_views.heads(wishes),
        columns=table_views.columns_of(wishes, columns),
        groups=table_views.groups_of(wishes, groups, columns),
        group_names=table_views.group_names(wishes),
        asked=wishes,
        problem=problem,
        chips=table_views.chips(wishes),
        without_sweep_url=table_views.without_sweep(wishes),
        views=[table_views.view_link(view, wishes) for view in views],
        can_select=viewer.may(Permission.WRITE),
        live_url=str(request.url.path) + (f"?{request.url.query}" if request.url.query else ""),
        picker_url=wishes.url("/runs/columns"),
        csv_url=wishes.url("/runs.csv"),
        pager=pager("/runs", wishes.query(), cursor=cursor, next_cursor=following),
        cluster=line,
    )
    if htmx.is_fragment:
        return compressed(request, fragment(request, "runs/_table.html", context))
    shown = page(request, "runs/list.html", context, status=422 if problem else 200)
    return compressed(request, shown)


@router.get("/runs.csv")
async def export_runs(store: Store, viewer: Reader, wishes: Wishes) -> StreamingResponse:
    """All runs of the table, in its order and with its columns; nothing is rounded."""
    columns = table.parse_columns(wishes.columns)
    async with store.read() as session:
        allowed = await projects.narrow(session, viewer.principal, wishes.project)
        wanted = _wanted(wishes, allowed)
        # What is wrong with it is said now: a stream has no second status.
        await table.list_rows(session, wanted, columns, limit=1)
    headers = {
        "Content-Disposition": 'attachment; filename="skydeck-runs.csv"',
        "Cache-Control": "no-store",
    }
    body = csv_of(table.iter_rows(store, wanted, columns), columns)
    return StreamingResponse(body, media_type="text/csv", headers=headers)


@router.get("/runs/columns")
async def pick_columns(
    request: Request,
    store: Store,
    htmx: HtmxRequest,
    viewer: Reader,
    wishes: Wishes,
    words: SearchWords = "",
) -> HTMLResponse:
    """Names of metrics and config keys to show as columns; searched here, not in the browser."""
    async with store.read() as session:
        allowed = await projects.narrow(session, viewer.principal, wishes.project)
        names = await table.search_names(session, words, projects=allowed)
    context: ColumnPicker = table_views.picker(wishes, names, words)
    if htmx.is_fragment:
        return fragment(request, "runs/_columns.html", context)
    return page(request, "runs/columns.html", context)


@router.post("/runs/views")
async def save_view(
    store: Store,
    viewer: SignedIn,
    name: Annotated[str, Form()],
    query: Annotated[str, Form()] = "",
) -> Response:
    """Keeps the table as it is under a name of one's own; the same name is set anew."""
    async with store.write() as session:
        view = await saved_views.save(session, viewer.user, name, query)
    return flash(RedirectResponse(saved_views.url_of(view.query), 303), "view-saved")


@router.post("/runs/views/{view_id}/delete")
async def delete_view(view_id: str, store: Store, viewer: SignedIn) -> Response:
    async with store.write() as session:
        await saved_views.delete(session, viewer.user, view_id)
    return flash(RedirectResponse("/runs", 303), "view-deleted")


def _wanted(wishes: Asked, allowed: frozenset[UUID] | None) -> Wanted:
    return Wanted(
        projects=allowed,
        sort=wishes.order,
        filter=wishes.filter,
        sweep=wishes.sweep,
        text=wishes.words,
        statuses=STATUSES.get(wishes.status, ()),
        is_archived=None if "archived" in fields_in(wishes.filter) else wishes.status == ARCHIVED,
        is_pinned=True if wishes.status == PINNED else None,
    )


async def _rows(
    session: ReadSession, found: Sequence[table.TableRow], viewer: Viewer, project: str
) -> list[RunRow]:
    runs = [row.run for row in found]
    # Runs that are fed from outside have no evaluations that we read.
    followed = [run for run in runs if run.origin is RunOrigin.SUBMITTED]
    counts = await metrics.list_solve_counts(session, followed) if followed else {}
    # Only what waits has a place in a queue.
    is_waiting = any(run.status is RunStatus.QUEUED for run in runs)
    loads = await queue.loads(session) if is_waiting else {}
    badges = {} if project else viewer.project_badges()
    return [
        _row(run, counts.get(run.id, ()), loads, badges.get(run.project_id, "")) for run in runs
    ]


def _row(
    run: ShownRun,
    counts: Sequence[metrics.SolveCount],
    loads: Mapping[UUID, ClusterLoad],
    project_name: str,
) -> RunRow:
    if run.status is not RunStatus.QUEUED:
        return shown_row(run, tuple(counts), project_name)
    return run_row(run, counts, load_of(run, loads), project_name=project_name)
