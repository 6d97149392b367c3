"""What administrators do with registered clusters: add, change, check, remove. No JavaScript."""

from typing import Annotated

from fastapi import Form, Request
from starlette.datastructures import FormData, UploadFile
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.clusters import registry, service, views
from app.clusters.contexts import RemovePage
from app.clusters.registration import Wish, wish_of
from app.errors import Conflict, Invalid, Problem
from app.k8s.kubeconfig import MAX_BYTES
from app.models import Cluster, ClusterKind, CredentialKind
from app.routing import Router
from app.runs import queue
from app.web.deps import Admin, Store
from app.web.filters import sentence
from app.web.flash import flash
from app.web.forms import FormField, typed_values
from app.web.templating import page

router = Router()
_FORM, _REMOVE = "clusters/form.html", "clusters/remove.html"
_TEXTS = (
    *("name", "address", "credential", "eks_cluster", "region", "role_arn", "access_key_id"),
    *("ca", "max_running_runs"),
)
_EMPTY = Wish(name="", address="")


@router.get("/clusters/new")
async def new_cluster(request: Request, _viewer: Admin) -> HTMLResponse:
    return page(request, _FORM, views.form(_EMPTY, None))


@router.post("/clusters/new")
async def add_cluster(request: Request, store: Store, viewer: Admin) -> Response:
    """The connection is checked at once, by the worker."""
    wish = await _typed(request)
    try:
        async with store.write() as session:
            cluster = await registry.create(session, wish, actor=viewer.principal.actor)
            await registry.ask_check(session, cluster, actor=viewer.principal.actor)
    except Invalid as error:
        return page(request, _FORM, views.form(wish, None, _problems(error)), status=422)
    return flash(RedirectResponse(f"/clusters/{cluster.slug}", 303), "cluster-added")


@router.get("/clusters/{slug}/edit")
async def edit_cluster(request: Request, slug: str, store: Store, _viewer: Admin) -> HTMLResponse:
    async with store.read() as session:
        cluster = await service.get(session, slug)
    _require_registered(cluster)
    return page(request, _FORM, views.form(wish_of(cluster), cluster))


@router.post("/clusters/{slug}/edit")
async def change_cluster(request: Request, slug: str, store: Store, viewer: Admin) -> Response:
    wish = await _typed(request)
    try:
        async with store.write() as session:
            cluster = await service.get(session, slug)
            await registry.change(session, cluster, wish, actor=viewer.principal.actor)
    except Invalid as error:
        async with store.read() as session:
            cluster = await service.get(session, slug)
        return page(request, _FORM, views.form(wish, cluster, _problems(error)), status=422)
    return flash(RedirectResponse(f"/clusters/{slug}", 303), "cluster-changed")


@router.post("/clusters/{slug}/check")
async def check_cluster(slug: str, store: Store, viewer: Admin) -> Response:
    async with store.write() as session:
        cluster = await service.get(session, slug)
        await registry.ask_check(session, cluster, actor=viewer.principal.actor)
    return flash(RedirectResponse(f"/clusters/{slug}#check", 303), "cluster-checking")


@router.get("/clusters/{slug}/delete")
async def ask_removal(request: Request, slug: str, store: Store, _viewer: Admin) -> HTMLResponse:
    return page(request, _REMOVE, await _removal(store, slug))


@router.post("/clusters/{slug}/delete")
async def remove_cluster(
    request: Request,
    slug: str,
    store: Store,
    viewer: Admin,
    confirm: Annotated[str, Form(max_length=1_000)] = "",
) -> Response:
    try:
        async with store.write() as session:
            cluster = await service.get(session, slug)
            if confirm.strip() != cluster.name:
                message = f"Type {cluster.name} to remove it."
                raise Invalid(message, [Problem("confirm", "confirm", message)])
            await registry.remove(session, cluster, actor=viewer.principal.actor)
    except Invalid as error:
        context = await _removal(store, slug, typed=confirm, problem=error.message)
        return page(request, _REMOVE, context, status=422)
    return flash(RedirectResponse("/clusters", 303), "cluster-removed")


async def _typed(request: Request) -> Wish:
    async with request.form(max_files=1, max_fields=40) as form:
        typed = typed_values(form)
        kubeconfig = await _file(form)
    values = {name: typed.get(name, "") for name in _TEXTS}
    is_aws = values["credential"] == CredentialKind.AWS
    secret = typed.get("secret_access_key" if is_aws else "token", "")
    # Browsers send a text area's line ends as those of the network.
    values["ca"] = values["ca"].replace("\r\n", "\n")
    return Wish(**values, secret=secret, kubeconfig=kubeconfig)


async def _file(form: FormData) -> str:
    file = form.get("kubeconfig")
    if not isinstance(file, UploadFile):
        return str(file or "")
    return (await file.read(MAX_BYTES + 1)).decode(errors="replace")


async def _removal(store: Store, slug: str, *, typed: str = "", problem: str = "") -> RemovePage:
    async with store.read() as session:
        cluster = await service.get(session, slug)
        load = (await queue.loads(session)).get(cluster.id, queue.ClusterLoad())
    _require_registered(cluster)
    return RemovePage(
        slug=cluster.slug,
        name=cluster.name,
        busy_count=load.active_count + load.waiting_count,
        confirm_field=FormField(
            "confirm",
            "Cluster's name",
            "text",
            typed,
            help=f"Type {cluster.name} to remove it.",
            problem=problem,
        ),
    )


def _require_registered(cluster: Cluster) -> None:
    if cluster.kind is ClusterKind.EMBEDDED:
        raise Conflict(
            "the embedded cluster is Skydeck's own: SKYDECK_EMBEDDED_CLUSTER=off turns it off"
        )


def _problems(error: Invalid) -> dict[str, str]:
    found = {each.field: sentence(each.message) for each in error.problems}
    return found or {"": sentence(error.message)}
