"""Pages about evaluations and eval sets: lists, forms, results, and the results as a file."""

import asyncio
from typing import Annotated
from uuid import UUID

from fastapi import Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.access.permissions import Permission
from app.db import Database
from app.endpoints.offered import model_groups
from app.episodes.deps import Models
from app.episodes.seats import ModelSource
from app.errors import Conflict, Invalid, NotFound, Problem
from app.evaluations import forms, service, sets, views
from app.evaluations.contexts import EvalSetRow, EvaluationsPage
from app.evaluations.export import csv_of
from app.evaluations.forms import Draft
from app.maze.eval_sets import EvalSet
from app.models import Project
from app.projects import service as projects
from app.routing import Router
from app.web.deps import EvaluationReader, EvaluationWriter, Reader, Store, Viewer, Writer
from app.web.flash import flash
from app.web.htmx import HtmxRequest
from app.web.once import form_digest, make_once
from app.web.paging import Cursor, pager
from app.web.project_switch import with_project
from app.web.templating import fragment, page

router = Router()
PAGE_SIZE = 50
_Words = Annotated[str, Query(max_length=400)]


@router.get("/evaluations")
async def list_evaluations(
    request: Request,
    store: Store,
    htmx: HtmxRequest,
    viewer: Reader,
    project: str = "",
    cursor: Cursor = None,
) -> HTMLResponse:
    async with store.read() as session:
        found = await service.list_page(
            session,
            projects=await projects.narrow(session, viewer.principal, project or None),
            limit=PAGE_SIZE,
            cursor=cursor,
        )
        counts = await service.count_all(session, found.items)
    context = EvaluationsPage(
        rows=[
            views.evaluation_row(
                each, counts.get(each.id, {}), project=viewer.project_badge(each.project_id)
            )
            for each in found.items
        ],
        pager=pager(
            "/evaluations", {"project": project}, cursor=cursor, next_cursor=found.next_cursor
        ),
        live_url=with_project("/evaluations", project),
        can_write=viewer.may(Permission.WRITE),
    )
    if htmx.is_fragment:
        return fragment(request, "evaluations/_table.html", context)
    return page(request, "evaluations/list.html", context)


@router.get("/evaluations/new")
async def ask_evaluation(
    request: Request,
    store: Store,
    viewer: Writer,
    model: Annotated[list[str] | None, Query(max_length=service.MAX_MODELS)] = None,
    eval_set: Annotated[_Words, Query(alias="set")] = "",
    project: _Words = "",
) -> HTMLResponse:
    """The form; `model` and `set` are chosen already."""
    given = {forms.EVAL_SET: eval_set, forms.PROJECT: project}
    values = {name: value for name, value in given.items() if value}
    return await _new_page(request, store, viewer, Draft(values, model or []))


@router.post("/evaluations/new")
async def create_evaluation(
    request: Request, store: Store, viewer: Writer, models: Models
) -> Response:
    async with request.form() as sent:
        draft, once = Draft.of(sent), form_digest(sent)
    try:
        slug, is_new = await _make(store, viewer, models, draft, once)
        said = "evaluation-created" if is_new else "made-already"
        return flash(RedirectResponse(f"/evaluations/{slug}", 303), said)
    except Invalid as error:
        problems = error.problems or [Problem("", "invalid", error.message)]
    except (NotFound, Conflict) as error:
        problems = [Problem("", "refused", error.message)]
    return await _new_page(request, store, viewer, draft, problems)


@router.get("/evaluations/{slug}")
async def show_evaluation(
    request: Request,
    slug: str,
    store: Store,
    htmx: HtmxRequest,
    viewer: EvaluationReader,
    after: Annotated[int, Query(ge=-1, lt=service.MAX_MODELS)] = -1,
    since: Annotated[int, Query(ge=-1, lt=2**31)] = -1,
) -> Response:
    """`after` is the model that is compared with the first; `since` the revision on the page."""
    async with store.read() as session:
        evaluation = await service.get(session, slug)
        if htmx.is_fragment and evaluation.revision == since:
            return Response(status_code=204)
        items = await service.list_played(session, evaluation)
    can_write = viewer.may(Permission.WRITE, evaluation.project_id)
    # It draws up to 256 mazes.
    context = await asyncio.to_thread(
        views.evaluation_page, evaluation, items, after=after, can_write=can_write
    )
    if htmx.is_fragment:
        return fragment(request, "evaluations/_live.html", context)
    return page(request, "evaluations/show.html", context)


@router.get("/evaluations/{slug}/episodes.csv")
async def download_episodes(slug: str, store: Store, _viewer: EvaluationReader) -> Response:
    async with store.read() as session:
        evaluation = await service.get(session, slug)
        items = await service.list_played(session, evaluation)
    headers = {
        "Content-Disposition": f'attachment; filename="{slug}.csv"',
        "Cache-Control": "no-store",
    }
    return Response(csv_of(evaluation, items), media_type="text/csv", headers=headers)


@router.post("/evaluations/{slug}/stop")
async def stop_evaluation(slug: str, store: Store, viewer: EvaluationWriter) -> Response:
    async with store.write() as session:
        evaluation = await service.get(session, slug)
        await service.stop(session, evaluation, actor=viewer.principal.actor)
    return flash(RedirectResponse(f"/evaluations/{slug}", 303), "evaluation-stopping")


@router.post("/evaluations/{slug}/resume")
async def resume_evaluation(slug: str, store: Store, viewer: EvaluationWriter) -> Response:
    async with store.write() as session:
        evaluation = await service.get(session, slug)
        await service.resume(session, evaluation, actor=viewer.principal.actor)
    return flash(RedirectResponse(f"/evaluations/{slug}", 303), "evaluation-resumed")


@router.get("/eval-sets")
async def list_sets(
    request: Request, store: Store, viewer: Reader, project: str = "", cursor: Cursor = None
) -> HTMLResponse:
    draft = Draft({forms.PROJECT: project} if project else {})
    return await _sets_page(request, store, viewer, draft, project=project, cursor=cursor)


@router.post("/eval-sets")
async def create_set(request: Request, store: Store, viewer: Writer) -> Response:
    async with request.form() as sent:
        draft = Draft.of(sent)
    wanted, problems = forms.set_of(draft)
    if wanted is not None:
        try:
            checked = await sets.check(wanted)
            await _store_set(store, viewer, draft, checked)
            return flash(RedirectResponse("/eval-sets", 303), "eval-set-created")
        except Invalid as error:
            problems = error.problems or [Problem("", "invalid", error.message)]
        except Conflict as error:
            problems = [Problem(forms.NAME, "taken", error.message)]
    return await _sets_page(request, store, viewer, draft, problems=problems)


async def _new_page(
    request: Request,
    store: Database,
    viewer: Viewer,
    draft: Draft,
    problems: list[Problem] | None = None,
) -> HTMLResponse:
    async with store.read() as session:
        groups = await model_groups(session)
        home = _home_id(viewer, draft)
        offered = await sets.list_of_project(session, home) if home else sets.built_in()
    context = forms.new_page(
        draft,
        groups=groups,
        eval_sets=offered,
        projects=_writable(viewer),
        problems=problems or (),
    )
    return page(request, "evaluations/new.html", context, status=422 if problems else 200)


async def _make(
    store: Database, viewer: Viewer, models: ModelSource, draft: Draft, once: str
) -> tuple[str, bool]:
    """The evaluation of this form, and whether it is new. Raises `Invalid`, `NotFound`."""
    principal = viewer.principal
    async with store.write() as session:

        async def make() -> str:
            home = await _home(session, viewer, draft)
            chosen = await sets.find(session, home, draft.text(forms.EVAL_SET))
            asked, problems = forms.request_of(draft, chosen)
            if asked is None:
                raise Invalid("some values are no numbers", problems)
            made = await service.create(session, home, asked, models=models, actor=principal.actor)
            return made.slug

        return await make_once(session, principal, once, make)


async def _sets_page(
    request: Request,
    store: Database,
    viewer: Viewer,
    draft: Draft,
    *,
    project: str = "",
    cursor: str | None = None,
    problems: list[Problem] | None = None,
) -> HTMLResponse:
    async with store.read() as session:
        found = await sets.list_page(
            session,
            projects=await projects.narrow(session, viewer.principal, project or None),
            limit=PAGE_SIZE,
            cursor=cursor,
        )
    rows = [] if cursor else [_set_row(each) for each in sets.built_in()]
    rows += [_set_row(sets.as_set(each), each.project, owner=each.owner) for each in found.items]
    context = forms.sets_page(
        draft,
        rows=rows,
        pager=pager(
            "/eval-sets", {"project": project}, cursor=cursor, next_cursor=found.next_cursor
        ),
        projects=_writable(viewer),
        problems=problems or (),
    )
    return page(request, "evaluations/sets.html", context, status=422 if problems else 200)


async def _store_set(store: Database, viewer: Viewer, draft: Draft, checked: EvalSet) -> None:
    """Raises `Conflict` for a name that is taken."""
    async with store.write() as session:
        home = await _home(session, viewer, draft)
        await sets.create(session, home, checked, actor=viewer.principal.actor)


async def _home(session: AsyncSession, viewer: Viewer, draft: Draft) -> Project:
    return await projects.choose(session, viewer.principal, draft.text(forms.PROJECT) or None)


def _home_id(viewer: Viewer, draft: Draft) -> UUID | None:
    """The project whose eval sets the form offers."""
    writable = [slug for slug, _ in _writable(viewer)]
    usual = writable[0] if len(writable) == 1 else projects.DEFAULT
    wanted = draft.text(forms.PROJECT) or usual
    return next((each.project_id for each in viewer.projects if each.slug == wanted), None)


def _set_row(found: EvalSet, project: Project | None = None, *, owner: str = "") -> EvalSetRow:
    home = f"&project={project.slug}" if project else ""
    return forms.set_row(
        found,
        project=project.name if project else "",
        owner=owner,
        new_url=f"/evaluations/new?set={found.name}{home}",
    )


def _writable(viewer: Viewer) -> list[tuple[str, str]]:
    return [
        (each.slug, each.name)
        for each in viewer.projects
        if viewer.may(Permission.WRITE, each.project_id)
    ]
