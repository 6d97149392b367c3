"""Pages of the playground: episodes made, played a turn a request, looked through, exported."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.access.limits import RequestLimit
from app.access.permissions import Permission
from app.clock import utcnow
from app.db import Database
from app.endpoints.offered import model_groups
from app.episodes import service
from app.episodes.conversations import picture_of, request_of
from app.episodes.deps import Models
from app.episodes.schemas import EpisodeAnswer
from app.episodes.seats import ModelSource
from app.episodes.service import EpisodeSpec
from app.episodes.turns import TurnRequest, take_turns
from app.errors import Conflict, Invalid, NotFound
from app.models import Episode
from app.playground import form, links, views
from app.playground.contexts import EpisodePage
from app.playground.deps import Texts
from app.playground.eval_sets import find_chosen, set_groups
from app.playground.form import Draft
from app.playground.moving_picture import moving_picture
from app.playground.under_way import UnderWay
from app.projects import service as projects
from app.routing import Router
from app.web.deps import EpisodeReader, EpisodeWriter, Reader, Store, Viewer, Writer
from app.web.filters import sentence
from app.web.flash import flash
from app.web.forms import typed_values
from app.web.htmx import HtmxRequest
from app.web.once import form_digest, make_once
from app.web.paging import Cursor, pager
from app.web.templating import fragment, page

router = Router()
PAGE_SIZE = 24
TURNS_A_MINUTE = 1_200
"""Of one person: at full speed four lanes may each take some turns a second."""
_turns = [Depends(RequestLimit("turns", TURNS_A_MINUTE))]
Turn = Annotated[int | None, Query(ge=0, le=service.MAX_TURNS)]
_YEAR = "private, max-age=31536000, immutable"


@router.get("/playground")
async def show_playground(
    request: Request,
    store: Store,
    viewer: Reader,
    project: str = "",
    cursor: Cursor = None,
    origin: Annotated[str, Query(alias="from", max_length=64)] = "",
    model: Annotated[list[str] | None, Query(max_length=service.MAX_LANES)] = None,
) -> HTMLResponse:
    """The form of a new episode, filled as `from` was or as a link asks, and the newest ones."""
    draft = links.maze_of(request.query_params)
    if origin:
        async with store.read() as session:
            episode = await service.get(session, origin)
        viewer.principal.require(Permission.READ, episode.project_id, what=f"episode {origin}")
        draft = form.again(episode)
    return await _playground(
        request, store, viewer, draft, wanted=model or (), project=project, cursor=cursor
    )


@router.post("/playground")
async def create_episode(
    request: Request, store: Store, viewer: Writer, models: Models
) -> Response:
    async with request.form() as sent:
        draft, once = Draft(typed_values(sent)), form_digest(sent)
    spec, problems = await _read(store, viewer, draft)
    if spec is not None:
        try:
            slug, is_new = await _make(store, viewer, models, draft, spec, once)
            said = "episode-created" if is_new else "made-already"
            return flash(RedirectResponse(f"/playground/{slug}", 303), said)
        except Invalid as error:
            problems = {_field(each.field): each.message for each in error.problems}
        except (NotFound, Conflict) as error:
            problems = {"": error.message}
    wrong = {name: sentence(message) for name, message in problems.items()}
    return await _playground(request, store, viewer, draft, problems=wrong)


@router.get("/playground/{slug}")
async def show_episode(
    request: Request,
    slug: str,
    store: Store,
    htmx: HtmxRequest,
    viewer: EpisodeReader,
    turn: Turn = None,
) -> HTMLResponse:
    context = await _page(store, viewer, slug, turn=turn)
    if htmx.is_fragment:
        return fragment(request, "playground/_stage.html", context)
    return page(request, "playground/show.html", context)


@router.post("/playground/{slug}/turns", dependencies=_turns)
async def take_turn(
    request: Request,
    slug: str,
    store: Store,
    htmx: HtmxRequest,
    viewer: EpisodeWriter,
    models: Models,
    texts: Texts,
) -> Response:
    """One turn: of the models that are behind, of one lane, or a person's; or the end of all."""
    async with request.form() as sent:
        values = typed_values(sent)
    notice = ""
    try:
        await _act(store, models, texts, slug, values, viewer)
    except (Conflict, Invalid) as error:
        notice = sentence(error.message)
    if not htmx.is_fragment and not notice:
        return RedirectResponse(f"/playground/{slug}", 303)
    context = await _page(store, viewer, slug, notice=notice)
    if htmx.is_fragment:
        return fragment(request, "playground/_stage.html", context)
    return page(request, "playground/show.html", context, status=409)


@router.post("/playground/{slug}/fork")
async def fork_episode(
    request: Request, slug: str, store: Store, viewer: EpisodeWriter
) -> Response:
    async with request.form() as sent:
        values, once = typed_values(sent), form_digest(sent)
    turn = form.find_number_of(values, "turn") or 0
    async with store.write() as session:

        async def make() -> str:
            episode = await service.get(session, slug)
            actor = viewer.principal.actor
            return (await service.fork(session, episode, turn=turn, actor=actor)).slug

        made, is_new = await make_once(session, viewer.principal, once, make)
    said = "episode-forked" if is_new else "made-already"
    return flash(RedirectResponse(f"/playground/{made}", 303), said)


@router.get("/playground/{slug}/messages")
async def show_messages(
    request: Request,
    slug: str,
    store: Store,
    _viewer: EpisodeReader,
    lane: Annotated[int, Query(ge=1, le=service.MAX_LANES)] = 1,
    turn: Annotated[int, Query(ge=1, le=service.MAX_TURNS)] = 1,
) -> HTMLResponse:
    """What one turn was asked with, word for word."""
    async with store.read() as session:
        episode = await service.get(session, slug)
    row, record, messages = await request_of(episode, lane=lane, turn=turn)
    context = views.messages_page(episode, row, record, messages)
    return page(request, "playground/messages.html", context)


@router.get("/playground/{slug}/pictures/{lane}/{turn}.png")
async def show_picture(
    slug: str, lane: int, turn: int, store: Store, _viewer: EpisodeReader
) -> Response:
    """The picture that a turn was asked with. It never changes: turns are written once."""
    async with store.read() as session:
        episode = await service.get(session, slug)
    png = await picture_of(episode, lane=lane, turn=turn)
    return Response(png, media_type="image/png", headers={"Cache-Control": _YEAR})


@router.get("/playground/{slug}/export.{kind}")
async def export_episode(slug: str, kind: str, store: Store, _viewer: EpisodeReader) -> Response:
    """As the API gives it, or as a moving picture."""
    if kind not in ("json", "gif"):
        raise NotFound(f"an episode is exported as json or gif, not as {kind}")
    async with store.read() as session:
        episode = await service.get(session, slug)
    headers = {"Content-Disposition": f'attachment; filename="{episode.slug}.{kind}"'}
    if kind == "json":
        body = await asyncio.to_thread(_json, episode)
        return Response(body, media_type="application/json", headers=headers)
    gif = await asyncio.to_thread(_gif, episode)
    return Response(gif, media_type="image/gif", headers=headers)


async def _act(
    store: Database,
    models: ModelSource,
    texts: UnderWay,
    slug: str,
    values: dict[str, str],
    viewer: Viewer,
) -> None:
    """Raises `Conflict` and `Invalid` where it was not done."""
    actor, lane = viewer.principal.actor, form.find_number_of(values, "lane")
    if values.get("do") == "stop":
        async with store.write() as session:
            await service.stop(session, slug, actor=actor)
        return
    turn = form.find_number_of(values, "turn")
    action = values.get("move", "") if values.get("do") == "move" else None
    asked = TurnRequest(lane=lane, turn=turn, action=action)
    with texts.asking(slug) as on_text:
        await take_turns(store, models, slug, asked, actor=actor, on_text=on_text)


async def _page(
    store: Database, viewer: Viewer, slug: str, *, turn: int | None = None, notice: str = ""
) -> EpisodePage:
    async with store.read() as session:
        episode = await service.get(session, slug)
        branches = await service.list_branches(session, episode)
    can_write = viewer.may(Permission.WRITE, episode.project_id)

    def build() -> EpisodePage:
        loaded = service.load(episode, utcnow())
        return views.episode_page(
            episode, loaded, branches, turn=turn, can_write=can_write, notice=notice
        )

    # Long episodes on large mazes take tens of milliseconds.
    return await asyncio.to_thread(build)


async def _playground(
    request: Request,
    store: Database,
    viewer: Viewer,
    draft: Draft,
    *,
    wanted: Sequence[str] = (),
    project: str = "",
    cursor: str | None = None,
    problems: dict[str, str] | None = None,
) -> HTMLResponse:
    """`wanted` are models that a link asks for."""
    async with store.read() as session:
        found = await service.list_page(
            session,
            projects=await projects.narrow(session, viewer.principal, project or None),
            limit=PAGE_SIZE,
            cursor=cursor,
        )
        groups = await model_groups(session)
        sets = await set_groups(session, viewer)
    draft, missing = links.chosen(draft, wanted, groups)
    writable = [
        (each.slug, each.name)
        for each in viewer.projects
        if viewer.may(Permission.WRITE, each.project_id)
    ]
    context = views.playground_page(
        draft,
        groups=groups,
        sets=sets,
        projects=writable,
        lines=[views.line(episode, viewer) for episode in found.items],
        pager=pager(
            "/playground", {"project": project}, cursor=cursor, next_cursor=found.next_cursor
        ),
        can_write=viewer.may(Permission.WRITE),
        missing=missing,
        problems=problems,
    )
    return page(request, "playground/list.html", context, status=422 if problems else 200)


async def _read(
    store: Database, viewer: Viewer, draft: Draft
) -> tuple[EpisodeSpec | None, dict[str, str]]:
    """The episode that the form asks for, or what is wrong, by field."""
    if not draft.text(form.EVAL_SET):
        return form.read(draft)
    try:
        async with store.write() as session:
            chosen = await find_chosen(session, viewer, draft)
    except NotFound as error:
        return None, {form.EVAL_SET: error.message}
    except Invalid as error:
        return None, {form.PROJECT: error.message}
    return form.read(draft, chosen)


async def _make(
    store: Database,
    viewer: Viewer,
    models: ModelSource,
    draft: Draft,
    spec: EpisodeSpec,
    once: str,
) -> tuple[str, bool]:
    """The episode of this form, and whether it is new."""
    principal = viewer.principal
    async with store.write() as session:

        async def make() -> str:
            home = await projects.choose(session, principal, draft.text(form.PROJECT) or None)
            made = await service.create(
                session, spec, project_id=home.id, models=models, actor=principal.actor
            )
            return made.slug

        return await make_once(session, principal, once, make)


def _field(name: str) -> str:
    """The form's field of a problem's: `lanes.0` is the control `lane-1`."""
    head, _, index = name.partition(".")
    if head == "lanes":
        return form.LANES[int(index)] if index.isdecimal() else form.LANES[0]
    return name


def _json(episode: Episode) -> str:
    answer = EpisodeAnswer.of(episode, service.load(episode, utcnow()))
    return answer.model_dump_json(indent=2)


def _gif(episode: Episode) -> bytes:
    loaded = service.load(episode, utcnow())
    lanes = [each.lane.cells for each in loaded.lanes]
    return moving_picture(loaded.lanes[0].lane.maze, lanes)
