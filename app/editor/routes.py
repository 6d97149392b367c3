"""The editor of a new run's config: its views, each with a URL, and what its buttons do."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.access.permissions import Permission
from app.db import Database, ReadSession
from app.editor import launching
from app.editor.contexts import KeyOption, KeysPart
from app.editor.draft import (
    AGAINST,
    CLUSTER,
    DO,
    EXPERIMENT,
    NAME,
    OF,
    PROJECT,
    SET,
    VIEW,
    Draft,
    read_form,
)
from app.editor.look import look, readable
from app.editor.panel import panel_of
from app.editor.views import View, editor_page
from app.editor.words import hint
from app.errors import Conflict, Invalid, NotFound
from app.experiments import service as experiments
from app.models import Config, Experiment
from app.recipes import service as recipes
from app.routing import Router
from app.runs import service as runs
from app.secrets import service as secrets
from app.web.deps import Store, Viewer, Writer
from app.web.filters import sentence
from app.web.flash import flash
from app.web.once import form_digest, make_once
from app.web.templating import fragment, page

router = Router()
SAVE, SHOW, CHECK, RECIPE = "save", "show", "check", "recipe:"
_LONGEST_FIX = 20_000


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was asked for and refused, `launched` or `saved`, and why, by field."""

    what: str
    problems: Mapping[str, str]


@router.get("/runs/new")
@router.get("/runs/new/yaml")
@router.get("/runs/new/changes")
@router.get("/runs/new/package")
async def show(
    request: Request,
    store: Store,
    viewer: Writer,
    recipe: str = "",
    project: str = "",
    source: Annotated[str, Query(alias="from")] = "",
    version: Annotated[int | None, Query(ge=1, lt=2**31)] = None,
    against: Annotated[int | None, Query(ge=1, lt=2**31)] = None,
) -> HTMLResponse:
    """A recipe's own values, or the config of the run or the experiment's version that `from` and
    `version` name, the newest without a number, as it was typed. Changes are shown `against` a
    version, the newest unless told otherwise."""
    view = View.of(request.url.path)
    async with store.read() as session:
        if source:
            draft = await _source(session, viewer, source, version)
        else:
            draft = Draft(recipe=recipes.get(recipe) if recipe else recipes.list_all()[0])
        if project:
            draft = draft.named({PROJECT: project})
        if against is not None:
            draft = draft.named({AGAINST: str(against)})
        draft = draft.with_yaml() if view is View.YAML else draft
        draft, found = await look(session, viewer, draft)
    return page(request, "editor/page.html", editor_page(draft, found, viewer, view))


@router.post("/runs/new")
@router.post("/runs/new/yaml")
@router.post("/runs/new/changes")
@router.post("/runs/new/package")
async def edit(request: Request, store: Store, viewer: Writer) -> Response:
    """What a button does with the draft: launch, save, mend, or show it on the address's view."""
    async with request.form() as form:
        draft = read_form(form)
        asked = {name: str(form.get(name, "")) for name in (DO, SET, VIEW)}
        once = form_digest(form)
    view = View.of(request.url.path)
    if asked[SET]:
        draft = draft.with_values(_fix(asked[SET]))
        return await _render(request, store, viewer, draft, _came_from(asked))
    if asked[DO].startswith(RECIPE):
        draft = draft.of_recipe(recipes.get(asked[DO].removeprefix(RECIPE)))
        return await _render(request, store, viewer, draft, View.FORM)
    if asked[DO] == SHOW or view is not View.FORM:
        return await _render(request, store, viewer, draft, view)
    if asked[DO] == CHECK:
        return await _render(request, store, viewer, draft, _came_from(asked), is_check=True)
    return await _store(request, store, viewer, draft, asked, once)


@router.post("/runs/new/check")
async def check(request: Request, store: Store, viewer: Writer) -> HTMLResponse:
    """The panel beside the form, renewed while one types."""
    async with request.form() as form:
        draft = read_form(form)
        view = _came_from({VIEW: str(form.get(VIEW, ""))})
    async with store.read() as session:
        draft, found = await look(session, viewer, draft)
    return fragment(request, "editor/_panel.html", panel_of(draft, found, view))


@router.post("/runs/new/package/{name}")
async def download(request: Request, store: Store, viewer: Writer, name: str) -> Response:
    """A file of the job package. Raises `NotFound`."""
    async with request.form() as form:
        draft = read_form(form)
    async with store.read() as session:
        draft, found = await look(session, viewer, draft)
    if found.values is None:
        return await _render(request, store, viewer, draft, View.PACKAGE, is_check=True)
    files = recipes.render(draft.recipe, found.values).files
    if name not in files:
        raise NotFound(f"the job package has no file {name}; it has {', '.join(files)}")
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(files[name], media_type="text/plain; charset=utf-8", headers=headers)


@router.get("/runs/new/keys")
async def complete_key(
    request: Request, _viewer: Writer, recipe: str, q: Annotated[str, Query(max_length=300)] = ""
) -> HTMLResponse:
    """Keys beyond the form that what was typed may become."""
    found = recipes.find_keys(recipes.get(recipe), q)
    options = [KeyOption(each.key, hint(each)) for each in found]
    return fragment(request, "editor/_keys.html", KeysPart(options))


async def _store(
    request: Request,
    store: Database,
    viewer: Viewer,
    draft: Draft,
    asked: Mapping[str, str],
    once: str,
) -> Response:
    try:
        async with store.write() as session:
            if asked[DO] == SAVE:
                experiment, is_new = await launching.save(session, draft, viewer.principal)
                target = f"/experiments/{experiment.slug}"
                return flash(RedirectResponse(target, 303), "saved" if is_new else "saved-already")

            async def make() -> str:
                return (await launching.launch(session, draft, viewer.principal)).slug

            slug, is_new = await make_once(session, viewer.principal, once, make)
    except (Invalid, Conflict) as error:
        why = _by_field(error) if isinstance(error, Invalid) else {"": sentence(error.message)}
        refusal = Refusal("saved" if asked[DO] == SAVE else "launched", why)
        return await _render(request, store, viewer, draft, _came_from(asked), refusal=refusal)
    said = "run-queued" if is_new else "made-already"
    return flash(RedirectResponse(f"/runs/{slug}", 303), said)


async def _render(
    request: Request,
    store: Database,
    viewer: Viewer,
    draft: Draft,
    view: View,
    *,
    refusal: Refusal | None = None,
    is_check: bool = False,
) -> HTMLResponse:
    """The draft on a view; on the YAML view for as long as its text cannot be read."""
    view = View.YAML if draft.fault else view
    draft = draft.with_yaml() if view is View.YAML else draft
    async with store.read() as session:
        draft, found = await look(session, viewer, draft)
        known = await secrets.masker(session, readable(viewer))
    refusal = refusal or Refusal("", {})
    problems = {field: known.text(text) for field, text in refusal.problems.items()}
    is_wrong = bool(refusal.what) or draft.fault is not None
    status = 422 if is_wrong or (is_check and not found.findings.ok) else 200
    context = editor_page(draft, found, viewer, view, refused=refusal.what, problems=problems)
    return page(request, "editor/page.html", context, status=status)


async def _source(session: ReadSession, viewer: Viewer, slug: str, version: int | None) -> Draft:
    """The config of a run or of an experiment's version. Raises `NotFound`."""
    reader = viewer.principal
    config: Config | None
    if slug.startswith("exp-"):
        experiment = await experiments.get(session, slug)
        reader.require(Permission.READ, experiment.project_id, what=f"experiment {slug}")
        config = await _version(session, experiment, version)
        naming = {PROJECT: experiment.project.slug, EXPERIMENT: experiment.name}
    else:
        run = await runs.get(session, slug)
        reader.require(Permission.READ, run.project_id, what=f"run {slug}")
        config, experiment = run.config, run.experiment
        naming = {PROJECT: experiment.project.slug, EXPERIMENT: experiment.name, NAME: run.name}
        if run.cluster is not None:
            naming[CLUSTER] = run.cluster.slug
    naming[OF] = experiment.slug
    known = {each.name: each for each in recipes.list_all()}
    if config is None or config.recipe not in known:
        return Draft(recipe=recipes.list_all()[0], naming=naming)
    yaml = await experiments.find_yaml(session, config) or ""
    draft = Draft(recipe=known[config.recipe], naming=naming, yaml=yaml)
    return draft.of_config(config.values)


async def _version(
    session: ReadSession, experiment: Experiment, version: int | None
) -> Config | None:
    if version is None:
        return await experiments.newest_config(session, experiment)
    return await experiments.get_version(session, experiment, version)


def _fix(text: str) -> dict[str, Any]:
    """What a fix button sets. Raises `Invalid` for what no button of ours holds."""
    try:
        found = json.loads(text) if len(text) <= _LONGEST_FIX else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Invalid("this button's values cannot be read: go back and type them yourself")
    return found


def _came_from(asked: Mapping[str, str]) -> View:
    return View(asked[VIEW]) if asked[VIEW] in set(View) else View.FORM


def _by_field(error: Invalid) -> dict[str, str]:
    """One sentence a field; problems of the same field are joined."""
    found: dict[str, str] = {}
    for problem in error.problems:
        before = f"{found[problem.field]} " if problem.field in found else ""
        found[problem.field] = before + sentence(problem.message)
    return found or {"": sentence(error.message)}
