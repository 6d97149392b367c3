"""Pages about experiments: the list, and one with its runs."""

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from app.access.permissions import Permission
from app.clock import utcnow
from app.experiments import service
from app.experiments.contexts import ExperimentPage, ExperimentRow, ExperimentsPage
from app.metrics import service as metrics
from app.models import Config, Experiment
from app.projects import service as projects
from app.runs import service as runs
from app.web.cluster_line import load_of
from app.web.deps import ExperimentReader, Reader, Store
from app.web.htmx import HtmxRequest
from app.web.paging import Cursor, pager
from app.web.run_table import run_row
from app.web.templating import fragment, page

router = APIRouter()
PAGE_SIZE = 50


@router.get("/experiments")
async def list_experiments(
    request: Request,
    store: Store,
    viewer: Reader,
    project: str = "",
    cursor: Cursor = None,
) -> HTMLResponse:
    async with store.read() as session:
        shown = await projects.narrow(session, viewer.principal, project)
        found = await service.list_page(session, projects=shown, limit=PAGE_SIZE, cursor=cursor)
        configs = await service.newest_configs(session, found.items)
        counts = await runs.count_by_experiment(session, found.items)
    context = ExperimentsPage(
        rows=[_row(row, configs.get(row.id), counts.get(row.id, 0)) for row in found.items],
        pager=pager(
            "/experiments", {"project": project}, cursor=cursor, next_cursor=found.next_cursor
        ),
        names_projects=not project and len(viewer.projects) > 1,
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
    async with store.read() as session:
        experiment = await service.get(session, slug)
        config = await service.newest_config(session, experiment)
        counts = await runs.count_by_experiment(session, [experiment])
        found = await runs.list_page(
            session,
            projects=viewer.principal.projects(Permission.READ),
            limit=PAGE_SIZE,
            cursor=cursor,
            experiment=experiment,
        )
        solved = await metrics.list_solve_counts(session, found.items)
        steps = await runs.pushed_steps(session, found.items)
        loads = await runs.loads(session)
    now = utcnow()
    context = ExperimentPage(
        experiment=_row(experiment, config, counts.get(experiment.id, 0)),
        hypothesis=experiment.hypothesis,
        rows=[
            run_row(
                run,
                solved.get(run.id, []),
                load_of(run, loads),
                now,
                pushed_step=steps.get(run.id),
            )
            for run in found.items
        ],
        pager=pager(f"/experiments/{slug}", {}, cursor=cursor, next_cursor=found.next_cursor),
        can_write=viewer.may(Permission.WRITE, experiment.project_id),
    )
    if htmx.is_fragment:
        return fragment(request, "runs/_table.html", context)
    return page(request, "experiments/show.html", context)


def _row(experiment: Experiment, config: Config | None, run_count: int) -> ExperimentRow:
    return ExperimentRow(
        slug=experiment.slug,
        name=experiment.name,
        project_slug=experiment.project.slug,
        project_name=experiment.project.name,
        recipe=config.recipe if config else "",
        version=config.version if config else None,
        run_count=run_count,
        tags=experiment.tags,
        owner=experiment.owner,
        created_at=experiment.created_at,
    )
