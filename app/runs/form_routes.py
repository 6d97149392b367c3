"""The form of a new run: shown, refused with everything kept, or launched."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.db import ReadSession, WriteSession
from app.errors import Invalid, Problem
from app.experiments import service as experiments
from app.models import Run, RunStatus
from app.recipes import service as recipes
from app.recipes.model import Recipe
from app.runs import launch_form, service
from app.runs.contexts import AdmissionPart
from app.runs.launch_form import EXPERIMENT, NAME, RECIPE, Typed
from app.runs.loading import embedded_line
from app.web.deps import SignedIn, Store
from app.web.flash import flash
from app.web.forms import as_text, typed_values
from app.web.templating import fragment, page

router = APIRouter()
_HISTORY = 20


@router.get("/runs/new")
async def new_run(
    request: Request,
    store: Store,
    _viewer: SignedIn,
    recipe: str = "",
    source: Annotated[str, Query(alias="from")] = "",
) -> HTMLResponse:
    """An empty form, or one filled with the config of the run that `from` names."""
    async with store.read() as session:
        chosen = recipes.get(recipe) if recipe else recipes.list_all()[0]
        typed: Typed = {}
        if source:
            run = await service.get(session, source)
            typed = _typed_of(run)
            known = [each for each in recipes.list_all() if each.name == run.config.recipe]
            chosen = known[0] if known else chosen
        admission = await _admission(session, chosen, typed)
    return page(request, "runs/new.html", launch_form.form_page(chosen, typed, {}, admission))


@router.get("/runs/new/admission")
async def admission_part(
    request: Request, store: Store, _viewer: SignedIn, recipe: str = ""
) -> HTMLResponse:
    """The panel that says whether a run would start at once."""
    chosen = recipes.get(recipe) if recipe else recipes.list_all()[0]
    async with store.read() as session:
        context = await _admission(session, chosen, {})
    return fragment(request, "runs/_admission.html", context)


@router.post("/runs/new")
async def launch(request: Request, store: Store, viewer: SignedIn) -> Response:
    async with request.form() as form:
        typed = typed_values(form)
    recipe = recipes.get(typed.get(RECIPE, ""))
    try:
        async with store.write() as session:
            run = await _create(session, recipe, typed, actor=viewer.name)
    except Invalid as error:
        problems = launch_form.problems_by_field(error)
        async with store.read() as session:
            admission = await _admission(session, recipe, typed)
        context = launch_form.form_page(recipe, typed, problems, admission)
        return page(request, "runs/new.html", context, status=422)
    return flash(RedirectResponse(f"/runs/{run.slug}", 303), "run-queued")


async def _create(session: WriteSession, recipe: Recipe, typed: Typed, *, actor: str) -> Run:
    config = launch_form.config_of(recipe, typed)
    values = recipes.resolve(recipe.name, config)
    name = _experiment_name(typed.get(EXPERIMENT, "").strip() or recipe.name)
    experiment = await experiments.find_by_name(session, name)
    newest = await experiments.newest_config(session, experiment) if experiment else None
    if experiment is None or newest is None or newest.recipe != recipe.name:
        experiment = await experiments.create(
            session, name=name, recipe=recipe.name, config=values, owner=actor
        )
        overrides: dict[str, object] = {}
    else:
        overrides = {k: v for k, v in values.items() if newest.values.get(k) != v}
    return await service.create(
        session,
        experiment,
        actor=actor,
        overrides=overrides,
        name=typed.get(NAME, "").strip() or None,
    )


def _experiment_name(text: str) -> str:
    """Its problem is said of the experiment's field: `name` is the run's in this form."""
    try:
        return experiments.checked_name(text)
    except Invalid as error:
        problems = [Problem(EXPERIMENT, each.rule, each.message) for each in error.problems]
        raise Invalid(error.message, problems) from None


async def _admission(session: ReadSession, recipe: Recipe, typed: Typed) -> AdmissionPart:
    recent = await service.list_page(
        session, limit=_HISTORY, statuses=(RunStatus.SUCCEEDED,), sort="-ended_at"
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
    return values | {EXPERIMENT: run.experiment.name, NAME: run.name, RECIPE: run.config.recipe}
