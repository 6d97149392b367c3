"""JSON API of clusters."""

from fastapi import APIRouter

from app.api.deps import Reader, Reading
from app.api.schemas import Listing
from app.clusters import service
from app.clusters.schemas import ClusterAnswer

router = APIRouter(tags=["clusters"])


@router.get("/clusters")
async def list_clusters(_caller: Reader, session: Reading) -> Listing[ClusterAnswer]:
    """Clusters that runs may be submitted to, as the worker last saw them."""
    rows = await service.list_all(session)
    return Listing(items=[ClusterAnswer.of(row) for row in rows])
