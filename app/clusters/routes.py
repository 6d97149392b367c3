"""The page of clusters: state, version, machines, as the worker last saw them."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from app.access.permissions import Permission
from app.clusters import service
from app.clusters.contexts import ClusterCard, ClustersPage, NodeRow
from app.models import Cluster, ClusterKind
from app.runs import queue
from app.web.cluster_line import cluster_line
from app.web.deps import Reader, Store
from app.web.htmx import HtmxRequest
from app.web.templating import fragment, page

router = APIRouter()


@router.get("/clusters")
async def list_clusters(
    request: Request, store: Store, htmx: HtmxRequest, viewer: Reader
) -> HTMLResponse:
    async with store.read() as session:
        found = await service.list_all(session)
        loads = await queue.loads(session)
        workers = await service.list_workers(session)
    cards = [_card(row, loads.get(row.id, queue.ClusterLoad())) for row in found]
    can_manage = viewer.may(Permission.ADMINISTER)
    context = ClustersPage(cards, len(workers), can_manage)
    if htmx.is_fragment:
        return fragment(request, "clusters/_cards.html", context)
    return page(request, "clusters/list.html", context)


def _card(cluster: Cluster, load: queue.ClusterLoad) -> ClusterCard:
    nodes = [_node(row) for row in cluster.details.get("nodes", [])]
    return ClusterCard(
        line=cluster_line(cluster, load),
        kind=cluster.kind,
        ray_version=str(cluster.details.get("ray_version", "")),
        nodes=nodes,
        is_embedded=cluster.kind is ClusterKind.EMBEDDED,
        runs_member_code=cluster.runs_member_code,
        shows_secrets=cluster.shows_secrets,
    )


def _node(row: dict[str, Any]) -> NodeRow:
    return NodeRow(
        name=str(row.get("hostname") or row.get("address") or row.get("node_id", "")),
        is_head=bool(row.get("is_head")),
        is_alive=bool(row.get("is_alive")),
        cpu_count=float(row.get("cpu_count", 0)),
        cpu_percent=float(row.get("cpu_percent", 0)),
        memory_used_bytes=int(row.get("memory_used_bytes", 0)),
        memory_total_bytes=int(row.get("memory_total_bytes", 0)),
    )
