"""The page on which an administrator agrees to what a cluster may run and be given."""

from typing import Annotated

from fastapi import Form, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.clusters import service
from app.clusters.contexts import ConsentsPage
from app.errors import Invalid, Problem
from app.models import Cluster, ClusterKind
from app.routing import Router
from app.web.deps import Admin, Store
from app.web.flash import flash
from app.web.forms import FormField
from app.web.templating import page

router = Router()
_TEMPLATE = "clusters/consents.html"


@router.get("/clusters/{slug}/consents")
async def show_consents(request: Request, slug: str, store: Store, _viewer: Admin) -> HTMLResponse:
    async with store.read() as session:
        cluster = await service.get(session, slug)
    wanted = (cluster.runs_member_code, cluster.shows_secrets)
    return page(request, _TEMPLATE, _page(cluster, wanted))


@router.post("/clusters/{slug}/consents")
async def change_consents(
    request: Request,
    slug: str,
    store: Store,
    viewer: Admin,
    runs_member_code: Annotated[bool, Form()] = False,
    shows_secrets: Annotated[bool, Form()] = False,
    confirm: Annotated[str, Form(max_length=1_000)] = "",
) -> Response:
    """Allowing more wants the cluster's name typed; taking back does not."""
    wanted = (runs_member_code, shows_secrets)
    try:
        async with store.write() as session:
            cluster = await service.get(session, slug)
            _require_confirmation(cluster, wanted, confirm)
            await service.set_consents(
                session,
                cluster,
                runs_member_code=runs_member_code,
                shows_secrets=shows_secrets,
                actor=viewer.principal.actor,
            )
    except Invalid as error:
        async with store.read() as session:
            cluster = await service.get(session, slug)
        context = _page(cluster, wanted, typed=confirm, problem=error.message)
        return page(request, _TEMPLATE, context, status=422)
    return flash(RedirectResponse("/clusters", 303), "cluster-changed")


def _require_confirmation(cluster: Cluster, wanted: tuple[bool, bool], typed: str) -> None:
    allows_more = (wanted[0] and not cluster.runs_member_code) or (
        wanted[1] and not cluster.shows_secrets
    )
    if allows_more and typed.strip() != cluster.name:
        message = f"Type {cluster.name} to allow more than before."
        raise Invalid(message, [Problem("confirm", "confirm", message)])


def _page(
    cluster: Cluster, wanted: tuple[bool, bool], *, typed: str = "", problem: str = ""
) -> ConsentsPage:
    return ConsentsPage(
        slug=cluster.slug,
        name=cluster.name,
        is_embedded=cluster.kind is ClusterKind.EMBEDDED,
        runs_member_code=wanted[0],
        shows_secrets=wanted[1],
        confirm_field=FormField(
            "confirm",
            "Cluster's name",
            "text",
            typed,
            help=f"To allow more than before, type {cluster.name}. To take back, leave it empty.",
            problem=problem,
        ),
    )
