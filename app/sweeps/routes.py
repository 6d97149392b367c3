"""Pages about sweeps: those of an experiment, the form with its preview, one with its runs."""

from dataclasses import replace
from typing import Annotated

from fastapi import Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.access.permissions import Permission
from app.db import Database, ReadSession
from app.errors import Conflict, Invalid, Problem
from app.experiments import service as experiments
from app.experiments.loading import load_head
from app.metrics import service as metrics
from app.models import Sweep
from app.recipes import service as recipes
from app.routing import Router
from app.runs import policy, queue
from app.runs.states import ENDED
from app.secrets import service as secrets
from app.sweeps import service, views
from app.sweeps.contexts import StopPage, SweepPage, SweepsPage
from app.sweeps.draft import CLUSTER, PREVIEWED, Draft, preview_digest, read_form, request_of
from app.sweeps.service import Plan
from app.sweeps.service import Request as SweepRequest
from app.web.cluster_line import load_of
from app.web.deps import (
    ExperimentReader,
    ExperimentWriter,
    Store,
    SweepReader,
    SweepWriter,
    Viewer,
)
from app.web.flash import flash
from app.web.htmx import HtmxRequest
from app.web.once import form_digest, make_once
from app.web.paging import Cursor, pager
from app.web.run_table import run_row
from app.web.templating import fragment, page

router = Router()
PAGE_SIZE = 50
_LAUNCH = "launch"
_GONE = "the cluster that was chosen is no longer there: look at the one shown now, or choose"
_CHANGED = (
    "this is not what the preview showed: look at the configs below, and launch them if they are "
    "what you want"
)
_Version = Annotated[int | None, Query(ge=1, lt=2**31)]


@router.get("/experiments/{slug}/sweeps")
async def list_sweeps(
    request: Request, slug: str, store: Store, viewer: ExperimentReader, cursor: Cursor = None
) -> HTMLResponse:
    async with store.read() as session:
        experiment, head = await load_head(session, slug, viewer, tab="Sweeps")
        found = await service.list_page(
            session, projects=None, experiment=experiment, limit=PAGE_SIZE, cursor=cursor
        )
        counts = await service.count_statuses(session, found.items)
    context = SweepsPage(
        head=head,
        rows=[views.sweep_row(sweep, counts.get(sweep.id, {})) for sweep in found.items],
        pager=pager(
            f"/experiments/{slug}/sweeps", {}, cursor=cursor, next_cursor=found.next_cursor
        ),
    )
    return page(request, "sweeps/list.html", context)


@router.get("/experiments/{slug}/sweeps/new")
async def ask_sweep(
    request: Request, slug: str, store: Store, viewer: ExperimentWriter, version: _Version = None
) -> HTMLResponse:
    async with store.read() as session:
        basis = await _basis(session, slug, viewer, version, Draft())
        experiments.require_open(basis.experiment)
    return page(request, "sweeps/new.html", views.form_page(basis, Draft()))


@router.post("/experiments/{slug}/sweeps/new")
async def create_sweep(
    request: Request, slug: str, store: Store, viewer: ExperimentWriter, version: _Version = None
) -> Response:
    """Shows what would be made, or makes it; refused, with everything kept."""
    async with request.form() as form:
        draft, is_launch = read_form(form), form.get("do") == _LAUNCH
        once = form_digest(form)
    async with store.read() as session:
        basis = await _basis(session, slug, viewer, version, draft)
        # A secret that was typed into a field by mistake is not shown again.
        known = await secrets.masker(session, [basis.experiment.project_id])
    asked, problems = request_of(draft, basis.recipe)
    if draft.text(CLUSTER) not in ("", basis.cluster.slug):
        # Runs never go to another cluster than the one that was chosen.
        asked, problems = None, [*problems, Problem(CLUSTER, "gone", _GONE)]
    plan: Plan | None = None
    if asked is not None:
        digest = preview_digest(asked.space, basis.config.version, basis.cluster.slug)
        is_other = is_launch and draft.text(PREVIEWED) not in ("", digest)
        draft = draft.previewed(digest)
        asked = replace(asked, exclude=draft.exclude)
        try:
            plan = await _plan(store, basis, asked)
            problems = plan.all_problems or [Problem("", "changed", _CHANGED)] * is_other
            if is_launch and not problems:
                made, is_new = await _make(store, basis, asked, plan, viewer, once)
                said = "sweep-created" if is_new else "made-already"
                return flash(RedirectResponse(f"/sweeps/{made}", 303), said)
        except Invalid as error:
            plan, problems = None, error.problems
        except Conflict as error:
            problems = [Problem("", "conflict", error.message)]
    context = views.form_page(basis, draft.masked(known.text), problems, plan)
    return page(request, "sweeps/new.html", context, status=422 if problems else 200)


@router.get("/sweeps/{slug}")
async def show_sweep(
    request: Request,
    slug: str,
    store: Store,
    htmx: HtmxRequest,
    viewer: SweepReader,
    sort: Annotated[str, Query(max_length=20)] = "",
) -> HTMLResponse:
    async with store.read() as session:
        context = await _page(session, await service.get(session, slug), viewer, sort)
    if htmx.is_fragment:
        return fragment(request, "sweeps/_table.html", context)
    return page(request, "sweeps/show.html", context)


@router.get("/sweeps/{slug}/stop")
async def ask_stop(request: Request, slug: str, store: Store, viewer: SweepWriter) -> HTMLResponse:
    async with store.read() as session:
        sweep = await service.get(session, slug)
        counts = (await service.count_statuses(session, [sweep])).get(sweep.id, {})
    under_way = sum(count for status, count in counts.items() if status not in ENDED)
    context = StopPage(views.sweep_row(sweep, counts), under_way)
    return page(request, "sweeps/stop.html", context)


@router.post("/sweeps/{slug}/stop")
async def stop_sweep(slug: str, store: Store, viewer: SweepWriter) -> Response:
    async with store.write() as session:
        sweep = await service.get(session, slug)
        await service.stop(session, sweep, actor=viewer.principal.actor)
    return flash(RedirectResponse(f"/sweeps/{slug}", 303), "sweep-stopping")


@router.post("/sweeps/{slug}/resume")
async def resume_sweep(slug: str, store: Store, viewer: SweepWriter) -> Response:
    async with store.write() as session:
        sweep = await service.get(session, slug)
        await service.resume(session, sweep, actor=viewer.principal.actor)
    return flash(RedirectResponse(f"/sweeps/{slug}", 303), "sweep-resumed")


async def _basis(
    session: ReadSession, slug: str, viewer: Viewer, version: int | None, draft: Draft
) -> views.Basis:
    """The cluster is the one typed, or the usual one. Raises `NotFound` for the version."""
    experiment, head = await load_head(session, slug, viewer)
    config = await experiments.get_version(session, experiment, version)
    recipe = recipes.get(config.recipe)
    offered = await service.offered(session)
    by_slug = {each.slug: each for each in offered}
    chosen = by_slug.get(draft.text(CLUSTER)) or policy.first_that_runs(offered, recipe)
    return views.Basis(
        experiment=experiment,
        head=head,
        config=config,
        recipe=recipe,
        clusters=offered,
        cluster=chosen,
    )


async def _plan(store: Database, basis: views.Basis, asked: SweepRequest) -> Plan:
    """Raises `Invalid` for a text that holds a secret."""
    async with store.read() as session:
        subject = await _subject(session, basis)
        await service.refuse_secrets(session, subject, asked)
    return await service.plan(subject, asked)


async def _make(
    store: Database,
    basis: views.Basis,
    asked: SweepRequest,
    plan: Plan,
    viewer: Viewer,
    once: str,
) -> tuple[str, bool]:
    """The sweep of this form, and whether it is new."""
    principal = viewer.principal
    async with store.write() as session:

        async def make() -> str:
            subject = await _subject(session, basis)
            made = await service.create(session, subject, asked, plan, actor=principal.actor)
            return made.slug

        return await make_once(session, principal, once, make)


async def _subject(session: AsyncSession, basis: views.Basis) -> service.Subject:
    return await service.subject(
        session,
        await experiments.get(session, basis.experiment.slug),
        version=basis.config.version,
        cluster=basis.cluster.slug,
    )


async def _page(session: ReadSession, sweep: Sweep, viewer: Viewer, sort: str) -> SweepPage:
    found = await service.list_runs(session, sweep)
    counts = await service.count_statuses(session, [sweep])
    solved = await metrics.list_solve_counts(session, found)
    loads = await queue.loads(session)
    rows = [run_row(run, solved.get(run.id, []), load_of(run, loads)) for run in found]
    return views.sweep_page(
        sweep,
        counts.get(sweep.id, {}),
        list(zip(found, rows, strict=True)),
        order=sort,
        can_write=viewer.may(Permission.WRITE, sweep.project_id),
    )
