"""The form of a new run: shown, refused with everything kept, or launched."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.access.permissions import Permission
from app.access.principal import Principal
from app.access.service import Membership
from app.db import ReadSession, WriteSession
from app.errors import Invalid, Problem
from app.experiments import service as experiments
from app.models import Run, RunStatus
from app.names import checked_name
from app.projects import service as projects
from app.recipes import service as recipes
from app.recipes.model import Recipe
from app.runs import launch_form, service
from app.runs.contexts import AdmissionPart
from app.runs.launch_form import EXPERIMENT, NAME, PROJECT, RECIPE, Typed
from app.runs.loading import embedded_line
from app.secrets import service as secrets
from app.web.deps import Store, Viewer, Writer
from app.web.flash import flash
from app.web.forms import as_text, typed_values
from app.web.templating import fragment, page

router = APIRouter()
_HISTORY = 20


@router.get("/runs/new")
async def new_run(
    request: Request,
    store: Store,
    viewer: Writer,
    recipe: str = "",
    project: str = "",
    source: Annotated[str, Query(alias="from")] = "",
) -> HTMLResponse:
    """An empty form, or one filled with the config of the run that `from` names."""
    async with store.read() as session:
        chosen = recipes.get(recipe) if recipe else recipes.list_all()[0]
        typed: Typed = {PROJECT: project} if project else {}
        if source:
            run = await service.get(session, source)
            reader = viewer.principal
            reader.require(Permission.READ, run.project_id, what=f"run {source}")
            typed = {**_typed_of(run), **typed}
            known = [each for each in recipes.list_all() if each.name == run.config.recipe]
            chosen = known[0] if known else chosen
        admission = await _admission(session, viewer, chosen, typed)
    context = launch_form.form_page(chosen, typed, {}, admission, _writable(viewer))
    return page(request, "runs/new.html", context)


@router.get("/runs/new/admission")
async def admission_part(
    request: Request, store: Store, viewer: Writer, recipe: str = ""
) -> HTMLResponse:
    """The panel that says whether a run would start at once."""
    chosen = recipes.get(recipe) if recipe else recipes.list_all()[0]
    async with store.read() as session:
        context = await _admission(session, viewer, chosen, {})
    return fragment(request, "runs/_admission.html", context)


@router.post("/runs/new")
async def launch(request: Request, store: Store, viewer: Writer) -> Response:
    async with request.form() as form:
        typed = typed_values(form)
    recipe = recipes.get(typed.get(RECIPE, ""))
    try:
        async with store.write() as session:
            run = await _create(session, recipe, typed, viewer.principal)
    except Invalid as error:
        problems = launch_form.problems_by_field(error)
        async with store.read() as session:
            # A secret that was typed into a field by mistake is not shown again.
            known = await secrets.masker(session, _all_readable(viewer))
            typed = {field: known.text(text) for field, text in typed.items()}
            problems = {field: known.text(text) for field, text in problems.items()}
            admission = await _admission(session, viewer, recipe, typed)
        context = launch_form.form_page(recipe, typed, problems, admission, _writable(viewer))
        return page(request, "runs/new.html", context, status=422)
    return flash(RedirectResponse(f"/runs/{run.slug}", 303), "run-queued")


async def _create(session: WriteSession, recipe: Recipe, typed: Typed, principal: Principal) -> Run:
    project = await projects.choose(session, principal, typed.get(PROJECT))
    config = launch_form.config_of(recipe, typed)
    values = recipes.resolve(recipe.name, config)
    name = _experiment_name(typed.get(EXPERIMENT, "").strip() or recipe.name)
    experiment = await experiments.find_by_name(session, project, name)
    newest = await experiments.newest_config(session, experiment) if experiment else None
    if experiment is None or newest is None or newest.recipe != recipe.name:
        experiment = await experiments.create(
            session,
            project=project,
            name=name,
            recipe=recipe.name,
            config=values,
            actor=principal.actor,
        )
        overrides: dict[str, object] = {}
    else:
        before = {**recipe.defaults(), **newest.values}
        overrides = {k: v for k, v in values.items() if before[k] != v}
    return await service.create(
        session,
        experiment,
        actor=principal.actor,
        overrides=overrides,
        name=typed.get(NAME, "").strip() or None,
    )


def _experiment_name(text: str) -> str:
    """Its problem is said of the experiment's field: `name` is the run's in this form."""
    try:
        return checked_name(text)
    except Invalid as error:
        problems = [Problem(EXPERIMENT, each.rule, each.message) for each in error.problems]
        raise Invalid(error.message, problems) from None


def _all_readable(viewer: Viewer) -> list[UUID] | None:
    found = viewer.principal.projects(Permission.READ)
    return None if found is None else list(found)


def _writable(viewer: Viewer) -> list[Membership]:
    return [each for each in viewer.projects if viewer.may(Permission.WRITE, each.project_id)]


async def _admission(
    session: ReadSession, viewer: Viewer, recipe: Recipe, typed: Typed
) -> AdmissionPart:
    recent = await service.list_page(
        session,
        projects=viewer.principal.projects(Permission.READ),
        limit=_HISTORY,
        statuses=(RunStatus.SUCCEEDED,),
        sort="-ended_at",
    )
    like = [run for run in recent.items if run.config.recipe == recipe.name]
    findings = recipes.validate(recipe, launch_form.config_of(recipe, typed))
    refusal = recipes.embedded_refusal(recipe)
    return AdmissionPart(
        cluster=await embedded_line(session),
        expected=launch_form.expected_time(recipe, typed, like),
        needs=recipe.needs,
        warnings=[each.message for each in ([refusal] if refusal else []) + [*findings.warnings]],
    )


def _typed_of(run: Run) -> Typed:
    values = {key: as_text(value) for key, value in run.config.values.items()}
    return values | {
        PROJECT: run.experiment.project.slug,
        EXPERIMENT: run.experiment.name,
        NAME: run.name,
        RECIPE: run.config.recipe,
    }
