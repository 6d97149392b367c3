"""Pages that share a run, and the page that a stranger sees by such a link."""

from typing import Annotated

from fastapi import Form, Query, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from app.access import uses
from app.clock import utcnow
from app.db import Database
from app.errors import Invalid
from app.metrics import service as metrics
from app.routing import Router
from app.runs import service as runs
from app.sharing import service, views
from app.sharing.contexts import SharePage
from app.web.deps import RunWriter, Store
from app.web.flash import flash
from app.web.forms import FormField
from app.web.public_links import public_link
from app.web.templating import page

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


@router.get("/runs/{slug}/share")
async def ask_share(request: Request, slug: str, store: Store, _viewer: RunWriter) -> HTMLResponse:
    """The links of a run, and the form that makes another."""
    return page(request, "sharing/share.html", await _share_page(store, slug))


@router.post("/runs/{slug}/share")
async def share(
    request: Request,
    slug: str,
    store: Store,
    viewer: RunWriter,
    life: Annotated[str, Form()] = _DEFAULT,
) -> HTMLResponse:
    """Makes a link and shows it, this once."""
    try:
        async with store.write() as session:
            run = await runs.get(session, slug)
            _, secret = await service.create(
                session, run, actor=viewer.principal.actor, days=_CHOICES.get(life, 0)
            )
    except Invalid as error:
        context = await _share_page(store, slug, life=life, problem=error.message)
        return page(request, "sharing/share.html", context, status=422)
    context = await _share_page(store, slug, url=public_link(request, f"shared/{secret}"))
    return page(request, "sharing/share.html", context, status=201)


@router.post("/runs/{slug}/shares/{share}/revoke")
async def revoke(slug: str, share: str, store: Store, viewer: RunWriter) -> Response:
    async with store.write() as session:
        run = await runs.get(session, slug)
        await service.revoke(session, run, share, actor=viewer.principal.actor)
    return flash(RedirectResponse(f"/runs/{slug}/share", 303), "share-revoked")


@router.get("/shared/{secret}")
async def show_shared(request: Request, secret: str, store: Store) -> HTMLResponse:
    """One run, for anybody with the link. All that is wrong with a link has the same answer."""
    now = utcnow()
    async with store.read() as session:
        found = await service.find_shared(session, secret, now)
        if found is None:
            return _gone(request)
        link, run = found
        context = views.shared_page(
            link,
            run,
            counts=(await metrics.list_solve_counts(session, [run])).get(run.id, []),
            newest=await metrics.find_newest_evaluation(session, run),
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


def _gone(request: Request) -> HTMLResponse:
    return page(request, "sharing/gone.html", None, status=404, headers=_HEADERS)


async def _share_page(
    store: Database, slug: str, *, life: str = _DEFAULT, problem: str = "", url: str = ""
) -> SharePage:
    async with store.read() as session:
        run = await runs.get(session, slug)
        links = await service.list_open(session, run)
    field = FormField(
        "life",
        "Ends after",
        "choice",
        life,
        choices=list(_CHOICES),
        help="It can be revoked here before that.",
        problem=problem,
    )
    return SharePage(
        run_slug=run.slug,
        run_name=run.name,
        is_deleted=run.deleted_at is not None,
        fields=[field],
        rows=[views.share_row(link) for link in links],
        url=url,
    )
