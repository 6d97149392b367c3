"""JSON API of clusters."""

from fastapi import APIRouter

from app.api.deps import Admin, Reader, Reading, Writing
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.clusters import service
from app.clusters.schemas import ClusterAnswer, ClusterChange

router = APIRouter(tags=["clusters"], route_class=JsonRoute)


@router.get("/clusters")
async def list_clusters(_caller: Reader, session: Reading) -> Listing[ClusterAnswer]:
    """Clusters that runs may be submitted to, as the worker last saw them."""
    rows = await service.list_all(session)
    return Listing(items=[ClusterAnswer.of(row) for row in rows])


@router.patch("/clusters/{cluster_id}")
async def change_cluster(
    cluster_id: str, body: ClusterChange, caller: Admin, session: Writing
) -> ClusterAnswer:
    """Says what the cluster may run and be given; see `docs/security.md` before you allow it."""
    cluster = await service.get(session, cluster_id)
    await service.set_consents(
        session,
        cluster,
        runs_member_code=body.runs_member_code,
        shows_secrets=body.shows_secrets,
        actor=caller.actor,
    )
    return ClusterAnswer.of(cluster)
