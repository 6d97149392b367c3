"""The pages of clusters: state, version, machines, as the worker last saw them."""

from fastapi import Request
from starlette.responses import HTMLResponse

from app.access.permissions import Permission
from app.clusters import registry, service, views
from app.clusters.contexts import ClusterPage, ClustersPage
from app.routing import Router
from app.runs import queue
from app.web.deps import Reader, Store
from app.web.htmx import HtmxRequest
from app.web.templating import fragment, page

router = Router()


@router.get("/clusters")
async def list_clusters(
    request: Request, store: Store, htmx: HtmxRequest, viewer: Reader
) -> HTMLResponse:
    async with store.read() as session:
        found = await service.list_all(session)
        loads = await queue.loads(session)
        workers = await service.list_workers(session)
    cards = [views.card(row, loads.get(row.id, queue.ClusterLoad())) for row in found]
    can_manage = viewer.may(Permission.ADMINISTER)
    context = ClustersPage(cards, len(workers), can_manage)
    if htmx.is_fragment:
        return fragment(request, "clusters/_cards.html", context)
    return page(request, "clusters/list.html", context)


@router.get("/clusters/{slug}")
async def show_cluster(
    request: Request, slug: str, store: Store, htmx: HtmxRequest, viewer: Reader
) -> HTMLResponse:
    """What its credential is and what a check found, only administrators see."""
    can_manage = viewer.may(Permission.ADMINISTER)
    async with store.read() as session:
        cluster = await service.get(session, slug)
        load = (await queue.loads(session)).get(cluster.id, queue.ClusterLoad())
        workers = await service.list_workers(session)
        check = await registry.newest_check(session, cluster) if can_manage else None
    context = ClusterPage(
        card=views.card(cluster, load),
        facts=views.facts(cluster) if can_manage else (),
        check=views.check_card(check) if check else None,
        worker_count=len(workers),
        can_manage=can_manage,
    )
    if htmx.is_fragment:
        return fragment(request, "clusters/_cluster.html", context)
    return page(request, "clusters/show.html", context)
