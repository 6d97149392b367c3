"""Pages about experiments: the list, and one with its runs."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query, Request
from starlette.responses import HTMLResponse

from app.access.permissions import Permission
from app.experiments import service, views
from app.experiments.contexts import ExperimentPage, ExperimentsPage, Link
from app.experiments.loading import load_head
from app.metrics import service as metrics
from app.projects import service as projects
from app.routing import Router
from app.runs import queue
from app.runs import service as runs
from app.web.cluster_line import load_of
from app.web.deps import ExperimentReader, Reader, Store
from app.web.htmx import HtmxRequest
from app.web.paging import Cursor, pager
from app.web.run_table import run_row
from app.web.search import SearchWords
from app.web.templating import fragment, page

router = Router()
PAGE_SIZE = 50
_LIST = "/experiments"


@router.get(_LIST)
async def list_experiments(
    request: Request,
    store: Store,
    viewer: Reader,
    project: str = "",
    q: SearchWords = "",
    tag: SearchWords = "",
    archived: Annotated[bool, Query()] = False,
    cursor: Cursor = None,
) -> HTMLResponse:
    async with store.read() as session:
        shown = await projects.narrow(session, viewer.principal, project)
        found = await service.list_page(
            session,
            projects=shown,
            limit=PAGE_SIZE,
            cursor=cursor,
            text=q,
            tag=tag,
            is_archived=archived,
        )
        configs = await service.newest_configs(session, found.items)
        counts = await runs.count_by_experiment(session, found.items)
    query = {"project": project, "q": q, "tag": tag, "archived": "true" if archived else ""}
    context = ExperimentsPage(
        rows=[
            views.experiment_row(row, configs.get(row.id), counts.get(row.id, 0))
            for row in found.items
        ],
        pager=pager(_LIST, query, cursor=cursor, next_cursor=found.next_cursor),
        names_projects=not project and len(viewer.projects) > 1,
        query=q,
        tag=tag,
        without_tag_url=_url(query | {"tag": ""}),
        project=project,
        is_archived=archived,
        chips=[
            Link("Open", _url(query | {"archived": ""}), is_current=not archived),
            Link("Archived", _url(query | {"archived": "true"}), is_current=archived),
        ],
    )
    return page(request, "experiments/list.html", context)


@router.get("/experiments/{slug}")
async def show_experiment(
    request: Request,
    slug: str,
    store: Store,
    htmx: HtmxRequest,
    viewer: ExperimentReader,
    cursor: Cursor = None,
) -> HTMLResponse:
    readable = viewer.principal.projects(Permission.READ)
    async with store.read() as session:
        experiment, head = await load_head(session, slug, viewer, tab="Runs")
        forks = await service.list_forks(session, experiment, projects=readable)
        found = await runs.list_page(
            session, projects=readable, limit=PAGE_SIZE, cursor=cursor, experiment=experiment
        )
        solved = await metrics.list_solve_counts(session, found.items)
        steps = await runs.pushed_steps(session, found.items)
        loads = await queue.loads(session)
    context = ExperimentPage(
        head=head,
        hypothesis=experiment.hypothesis,
        forks=views.fork_links(forks),
        rows=[
            run_row(
                run,
                solved.get(run.id, []),
                load_of(run, loads),
                pushed_step=steps.get(run.id),
                shows_version=True,
            )
            for run in found.items
        ],
        pager=pager(f"/experiments/{slug}", {}, cursor=cursor, next_cursor=found.next_cursor),
    )
    if htmx.is_fragment:
        return fragment(request, "runs/_table.html", context)
    return page(request, "experiments/show.html", context)


def _url(query: dict[str, str]) -> str:
    kept = {name: value for name, value in query.items() if value}
    return f"{_LIST}?{urlencode(kept)}" if kept else _LIST
