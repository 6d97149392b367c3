"""Pages about endpoints: all of them, one of them; registered, changed, removed."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import Depends, Form, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.access.permissions import Permission
from app.clusters import service as clusters
from app.db import Database
from app.endpoints import service, views
from app.endpoints.contexts import EndpointsPage
from app.endpoints.views import KEEP, NONE, REPLACE
from app.errors import Invalid, Problem
from app.outgoing.resolve import Resolver, system_resolver
from app.routing import Router
from app.web.deps import Admin, Reader, Store, Viewer
from app.web.filters import sentence
from app.web.flash import flash
from app.web.htmx import HtmxRequest
from app.web.templating import fragment, page

router = Router()
URL = "/endpoints"
Text = Annotated[str, Form()]
Dns = Annotated[Resolver, Depends(system_resolver)]


@router.get(URL)
async def list_endpoints(
    request: Request, store: Store, htmx: HtmxRequest, viewer: Reader
) -> HTMLResponse:
    context = await _list_page(store, viewer)
    if htmx.is_fragment:
        return fragment(request, "endpoints/_cards.html", context)
    return page(request, "endpoints/list.html", context)


@router.post(URL)
async def register_endpoint(
    request: Request,
    store: Store,
    resolver: Dns,
    viewer: Admin,
    name: Text = "",
    base_url: Text = "",
    key: Text = "",
) -> Response:
    actor = viewer.principal.actor
    try:
        service.require_plausible(name=name, base_url=base_url, key=key)
        await service.require_callable(store, resolver, base_url)
        async with store.write() as session:
            made = await service.register(session, actor, name=name, base_url=base_url, key=key)
    except Invalid as error:
        values = {"name": name, "base_url": base_url, "key": key}
        context = await _list_page(store, viewer, values, _problems(error))
        return page(request, "endpoints/list.html", context, status=422)
    return flash(RedirectResponse(f"{URL}/{made.slug}", 303), "endpoint-registered")


@router.get(URL + "/{slug}")
async def show_endpoint(
    request: Request, slug: str, store: Store, htmx: HtmxRequest, viewer: Reader
) -> HTMLResponse:
    async with store.read() as session:
        endpoint = await service.get(session, slug)
    context = views.endpoint_page(endpoint, can_manage=viewer.may(Permission.ADMINISTER))
    if htmx.is_fragment:
        return fragment(request, "endpoints/_state.html", context)
    return page(request, "endpoints/show.html", context)


@router.post(URL + "/{slug}")
async def change_endpoint(
    request: Request,
    slug: str,
    store: Store,
    resolver: Dns,
    viewer: Admin,
    name: Text = "",
    base_url: Text = "",
    key_choice: Text = KEEP,
    key: Text = "",
) -> Response:
    """What is refused is shown again, but for the key."""
    values = {"name": name, "base_url": base_url, "key_choice": key_choice, "key": key}
    try:
        new_key = _chosen_key(key_choice, key)
        service.require_plausible(name=name, base_url=base_url, key=new_key)
        await service.require_callable(store, resolver, base_url)
        async with store.write() as session:
            endpoint = await service.get(session, slug)
            await service.change(
                session,
                endpoint,
                viewer.principal.actor,
                name=name,
                base_url=base_url,
                key=new_key,
            )
    except Invalid as error:
        async with store.read() as session:
            endpoint = await service.get(session, slug)
        context = views.endpoint_page(
            endpoint, can_manage=True, values=values, problems=_problems(error)
        )
        return page(request, "endpoints/show.html", context, status=422)
    return flash(RedirectResponse(f"{URL}/{slug}", 303), "endpoint-changed")


@router.post(URL + "/{slug}/check")
async def check_endpoint(slug: str, store: Store, _viewer: Admin) -> Response:
    async with store.write() as session:
        await service.wake(session, (await service.get(session, slug)).slug)
    return flash(RedirectResponse(f"{URL}/{slug}", 303), "endpoint-checked")


@router.post(URL + "/{slug}/remove")
async def remove_endpoint(slug: str, store: Store, viewer: Admin) -> Response:
    async with store.write() as session:
        endpoint = await service.get(session, slug)
        await service.remove(session, endpoint, viewer.principal.actor)
    return flash(RedirectResponse(URL, 303), "endpoint-removed")


async def _list_page(
    store: Database,
    viewer: Viewer,
    values: Mapping[str, str] | None = None,
    problems: Mapping[str, str] | None = None,
) -> EndpointsPage:
    async with store.read() as session:
        found = await service.list_all(session)
        workers = await clusters.list_workers(session)
    return EndpointsPage(
        endpoints=[views.state_of(each) for each in found],
        worker_count=len(workers),
        can_manage=viewer.may(Permission.ADMINISTER),
        fields=views.form_fields(values or {}, problems or {}),
    )


def _chosen_key(choice: str, key: str) -> str | None:
    if choice == NONE:
        return ""
    if choice == REPLACE or key.strip():
        if not key.strip():
            message = "type the new key"
            raise Invalid(message, [Problem("key", "missing", message)])
        return key
    return None


def _problems(error: Invalid) -> dict[str, str]:
    found = {each.field: sentence(each.message) for each in error.problems}
    return found or {"name": sentence(error.message)}
