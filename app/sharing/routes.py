"""Pages that share a run or an episode, and the page that a stranger sees by such a link."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Form, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from app.access import uses
from app.clock import utcnow
from app.db import Database
from app.episodes import service as episodes
from app.episodes.conversations import picture_of
from app.errors import Invalid
from app.metrics import service as metrics
from app.routing import Router
from app.runs import service as runs
from app.sharing import service, views
from app.sharing.contexts import SharePage
from app.sharing.repository import Shareable
from app.web.deps import EpisodeWriter, RunWriter, Store, Viewer
from app.web.flash import flash
from app.web.forms import FormField
from app.web.htmx import Htmx, HtmxRequest
from app.web.public_links import public_link
from app.web.templating import fragment, page

router = Router()
POINTS = 1_000
_KEYS_AT_ONCE = 50
_HEADERS = {
    # The secret is in the address: it must reach no other site, no cache and no search engine.
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex, nofollow",
}
_CHOICES = {f"{days} day" + "s" * (days > 1): days for days in service.LIFETIMES}
_DEFAULT = next(text for text, days in _CHOICES.items() if days == service.DEFAULT_DAYS)
Life = Annotated[str, Form()]
Turn = Annotated[int | None, Query(ge=0, le=episodes.MAX_TURNS)]
Get = Callable[[AsyncSession, str], Awaitable[Shareable]]
"""Finds what is shared. Raises `NotFound`."""


@router.get("/runs/{slug}/share")
async def ask_share(request: Request, slug: str, store: Store, _viewer: RunWriter) -> HTMLResponse:
    """The links of a run, and the form that makes another."""
    return await _ask(request, store, runs.get, slug)


@router.post("/runs/{slug}/share")
async def share(
    request: Request, slug: str, store: Store, viewer: RunWriter, life: Life = _DEFAULT
) -> HTMLResponse:
    """Makes a link and shows it, this once."""
    return await _share(request, store, runs.get, slug, viewer, life)


@router.post("/runs/{slug}/shares/{share}/revoke")
async def revoke(slug: str, share: str, store: Store, viewer: RunWriter) -> Response:
    return await _revoke(store, runs.get, slug, share, viewer)


@router.get("/playground/{slug}/share")
async def ask_episode_share(
    request: Request, slug: str, store: Store, _viewer: EpisodeWriter
) -> HTMLResponse:
    """The links of an episode, and the form that makes another."""
    return await _ask(request, store, episodes.get, slug)


@router.post("/playground/{slug}/share")
async def share_episode(
    request: Request, slug: str, store: Store, viewer: EpisodeWriter, life: Life = _DEFAULT
) -> HTMLResponse:
    """Makes a link and shows it, this once."""
    return await _share(request, store, episodes.get, slug, viewer, life)


@router.post("/playground/{slug}/shares/{share}/revoke")
async def revoke_episode_share(
    slug: str, share: str, store: Store, viewer: EpisodeWriter
) -> Response:
    return await _revoke(store, episodes.get, slug, share, viewer)


@router.get("/shared/{secret}")
async def show_shared(
    request: Request, secret: str, store: Store, htmx: HtmxRequest, turn: Turn = None
) -> HTMLResponse:
    """One run or episode, for anybody with the link. All wrong links have the same answer."""
    now = utcnow()
    async with store.read() as session:
        found = await service.find_shared(session, secret, now)
        if found is None:
            return await _show_episode(request, secret, store, htmx, turn)
        link, run = found
        newest, before = await metrics.find_newest_and_untrained(session, run)
        context = views.shared_page(
            link,
            run,
            counts=(await metrics.list_solve_counts(session, [run])).get(run.id, []),
            newest=newest,
            before=before,
            series=await metrics.list_series(session, run),
            pushed_step=(await runs.pushed_steps(session, [run])).get(run.id),
            points_url=f"/shared/{secret}/points",
            now=now,
        )
    if uses.is_due(link.last_used_at, now):
        async with store.write() as session:
            await service.note_use(session, link, now)
    return page(request, "sharing/shared.html", context, headers=_HEADERS)


@router.get("/shared/{secret}/points")
async def shared_points(
    request: Request,
    secret: str,
    store: Store,
    key: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
) -> Response:
    """Points of some charts of the shared run as columns, for `shared.js`."""
    async with store.read() as session:
        found = await service.find_shared(session, secret)
        if found is None:
            return _gone(request)
        _, run = found
        keys = [each for each in key[:_KEYS_AT_ONCE] if each.isprintable()]
        series = await metrics.read_series(session, [run], keys, max_points=POINTS)
    return JSONResponse({"series": [views.points(view) for view in series]}, headers=_HEADERS)


@router.get("/shared/{secret}/pictures/{lane}/{turn}.png")
async def shared_picture(
    request: Request, secret: str, lane: int, turn: int, store: Store
) -> Response:
    """The picture that a turn of the shared episode was asked with."""
    async with store.read() as session:
        found = await service.find_shared_episode(session, secret)
        if found is None:
            return _gone(request)
        episode = await episodes.get(session, found[1])
    png = await picture_of(episode, lane=lane, turn=turn)
    return Response(png, media_type="image/png", headers=_HEADERS)


async def _show_episode(
    request: Request, secret: str, store: Database, htmx: Htmx, turn: int | None
) -> HTMLResponse:
    now = utcnow()
    async with store.read() as session:
        found = await service.find_shared_episode(session, secret, now)
        if found is None:
            return _gone(request)
        link, slug = found
        episode = await episodes.get(session, slug)
    if uses.is_due(link.last_used_at, now):
        async with store.write() as session:
            await service.note_use(session, link, now)
    url = f"/shared/{secret}"
    context = await asyncio.to_thread(
        views.shared_episode_page, link, episode, url=url, turn=turn, now=now
    )
    if htmx.is_fragment:
        shown = fragment(request, "playground/_stage.html", context)
        shown.headers.update(_HEADERS)
        return shown
    return page(request, "sharing/episode.html", context, headers=_HEADERS)


def _gone(request: Request) -> HTMLResponse:
    return page(request, "sharing/gone.html", None, status=404, headers=_HEADERS)


async def _ask(request: Request, store: Database, get: Get, slug: str) -> HTMLResponse:
    return page(request, "sharing/share.html", await _share_page(store, get, slug))


async def _share(
    request: Request, store: Database, get: Get, slug: str, viewer: Viewer, life: str
) -> HTMLResponse:
    try:
        async with store.write() as session:
            shown = await get(session, slug)
            _, secret = await service.create(
                session, shown, actor=viewer.principal.actor, days=_CHOICES.get(life, 0)
            )
    except Invalid as error:
        context = await _share_page(store, get, slug, life=life, problem=error.message)
        return page(request, "sharing/share.html", context, status=422)
    url = public_link(request, f"shared/{secret}")
    context = await _share_page(store, get, slug, url=url)
    return page(request, "sharing/share.html", context, status=201)


async def _revoke(store: Database, get: Get, slug: str, share: str, viewer: Viewer) -> Response:
    async with store.write() as session:
        shown = await get(session, slug)
        await service.revoke(session, shown, share, actor=viewer.principal.actor)
    url = f"{views.base_of(shown)}/share"
    return flash(RedirectResponse(url, 303), "share-revoked")


async def _share_page(
    store: Database, get: Get, slug: str, *, life: str = _DEFAULT, problem: str = "", url: str = ""
) -> SharePage:
    async with store.read() as session:
        shown = await get(session, slug)
        links = await service.list_open(session, shown)
    field = FormField(
        "life",
        "Ends after",
        "choice",
        life,
        choices=list(_CHOICES),
        help="It can be revoked here before that.",
        problem=problem,
    )
    return views.share_page(shown, links, fields=[field], url=url)
