"""Changes of an experiment: name, hypothesis and tags; forks; the archive; a run of a version."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import Form, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.access.permissions import Permission
from app.db import Database
from app.errors import Conflict, Invalid, Problem
from app.experiments import service, views
from app.experiments.contexts import ChangeRow, EditPage, ForkPage
from app.experiments.loading import load_head
from app.models import Experiment
from app.projects import service as projects
from app.routing import Router
from app.runs import service as runs
from app.web.deps import ExperimentWriter, Store, Viewer
from app.web.filters import sentence
from app.web.flash import flash
from app.web.forms import group_problems
from app.web.templating import page

router = Router()
Text = Annotated[str, Form(max_length=1_000)]
Prose = Annotated[str, Form(max_length=20_000)]
Number = Annotated[int | None, Form(ge=1, lt=2**31)]
Typed = Mapping[str, str]


@router.get("/experiments/{slug}/edit")
async def ask_edit(
    request: Request, slug: str, store: Store, viewer: ExperimentWriter
) -> HTMLResponse:
    return await _edit_page(request, store, viewer, slug)


@router.post("/experiments/{slug}/edit")
async def edit_experiment(
    request: Request,
    slug: str,
    store: Store,
    viewer: ExperimentWriter,
    name: Text = "",
    hypothesis: Prose = "",
    tags: Prose = "",
    revision: Number = None,
) -> Response:
    """Refused with everything kept; after a change of somebody else, beside what they saved."""
    # Browsers send line ends as CR LF, whatever was shown to them.
    typed = {"name": name, "hypothesis": hypothesis.replace("\r\n", "\n"), "tags": tags}
    edit = service.Edit(
        name=name,
        hypothesis=typed["hypothesis"],
        tags=views.split_tags(tags),
        revision=revision,
    )
    try:
        async with store.write() as session:
            experiment = await service.get(session, slug)
            await service.change(session, experiment, edit, actor=viewer.principal.actor)
    except Invalid as error:
        problems = views.problems_of(error)
        return await _edit_page(
            request, store, viewer, slug, typed=typed, problems=problems, revision=revision
        )
    except Conflict as error:
        problems = {"": sentence(error.message)}
        return await _edit_page(
            request, store, viewer, slug, typed=typed, problems=problems, status=409
        )
    return flash(RedirectResponse(f"/experiments/{slug}", 303), "experiment-changed")


@router.get("/experiments/{slug}/fork")
async def ask_fork(
    request: Request,
    slug: str,
    store: Store,
    viewer: ExperimentWriter,
    version: int | None = None,
) -> HTMLResponse:
    typed = {"version": str(version)} if version else {}
    return await _fork_page(request, store, viewer, slug, typed=typed)


@router.post("/experiments/{slug}/fork")
async def fork_experiment(
    request: Request,
    slug: str,
    store: Store,
    viewer: ExperimentWriter,
    name: Text = "",
    version: Text = "",
    project: Text = "",
) -> Response:
    typed = {"name": name, "version": version, "project": project}
    try:
        async with store.write() as session:
            source = await service.get(session, slug)
            home = await projects.choose(session, viewer.principal, project or source.project.slug)
            made = await service.fork(
                session,
                source,
                project=home,
                actor=viewer.principal.actor,
                version=_version(version),
                name=name or None,
            )
    except Invalid as error:
        problems = views.problems_of(error)
        return await _fork_page(request, store, viewer, slug, typed=typed, problems=problems)
    return flash(RedirectResponse(f"/experiments/{made.slug}", 303), "experiment-forked")


@router.post("/experiments/{slug}/archive")
async def archive_experiment(slug: str, store: Store, viewer: ExperimentWriter) -> Response:
    async with store.write() as session:
        experiment = await service.get(session, slug)
        await service.archive(session, experiment, actor=viewer.principal.actor)
    return flash(RedirectResponse(f"/experiments/{slug}", 303), "experiment-archived")


@router.post("/experiments/{slug}/restore")
async def restore_experiment(slug: str, store: Store, viewer: ExperimentWriter) -> Response:
    async with store.write() as session:
        experiment = await service.get(session, slug)
        await service.restore(session, experiment, actor=viewer.principal.actor)
    return flash(RedirectResponse(f"/experiments/{slug}", 303), "experiment-restored")


@router.post("/experiments/{slug}/runs")
async def launch_version(
    slug: str, store: Store, viewer: ExperimentWriter, version: Number = None
) -> Response:
    """Queues a run of a version as it is, the newest unless told otherwise."""
    async with store.write() as session:
        experiment = await service.get(session, slug)
        run = await runs.create(session, experiment, actor=viewer.principal.actor, version=version)
    return flash(RedirectResponse(f"/runs/{run.slug}", 303), "run-queued")


async def _edit_page(
    request: Request,
    store: Database,
    viewer: Viewer,
    slug: str,
    *,
    typed: Typed | None = None,
    problems: dict[str, str] | None = None,
    revision: int | None = None,
    status: int = 200,
) -> HTMLResponse:
    async with store.read() as session:
        experiment, head = await load_head(session, slug, viewer)
    saved = _saved(experiment)
    shown, found = typed or saved, problems or {}
    fields = views.edit_fields(shown["name"], shown["hypothesis"], shown["tags"], found)
    is_stale = status == Conflict.status
    context = EditPage(
        head=head,
        fields=fields,
        problems=group_problems(found, fields),
        revision=revision or experiment.revision,
        newer=[ChangeRow(key, saved[key], shown[key]) for key in saved if saved[key] != shown[key]]
        if is_stale
        else [],
    )
    return page(
        request, "experiments/edit.html", context, status=422 if found and not is_stale else status
    )


async def _fork_page(
    request: Request,
    store: Database,
    viewer: Viewer,
    slug: str,
    *,
    typed: Typed,
    problems: dict[str, str] | None = None,
) -> HTMLResponse:
    async with store.read() as session:
        experiment, head = await load_head(session, slug, viewer)
    found = problems or {}
    writable = [each for each in viewer.projects if viewer.may(Permission.WRITE, each.project_id)]
    fields = views.fork_fields(
        typed.get("version", str(head.experiment.version or "")),
        typed.get("name", f"{experiment.name} (fork)"),
        typed.get("project") or experiment.project.slug,
        writable,
        found,
    )
    context = ForkPage(head=head, fields=fields, problems=group_problems(found, fields))
    return page(request, "experiments/fork.html", context, status=422 if found else 200)


def _saved(experiment: Experiment) -> dict[str, str]:
    return {
        "name": experiment.name,
        "hypothesis": experiment.hypothesis,
        "tags": ", ".join(experiment.tags),
    }


def _version(text: str) -> int | None:
    """Raises `Invalid` for what is no version's number."""
    typed = text.strip()
    if not typed:
        return None
    if typed.isascii() and typed.isdigit() and 0 < int(typed[:10]) < 2**31 and len(typed) <= 10:
        return int(typed)
    message = "a version is a whole number from 1"
    raise Invalid(message, [Problem("version", "version", message)])
