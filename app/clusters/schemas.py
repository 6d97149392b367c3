"""JSON shapes of clusters."""

from datetime import datetime

from pydantic import Field

from app.api.schemas import Answer
from app.models import Cluster, ClusterKind, ClusterStatus


class ClusterAnswer(Answer):
    id: str = Field(examples=["embedded"])
    name: str
    address: str
    kind: ClusterKind
    status: ClusterStatus
    message: str
    max_running_runs: int
    created_at: datetime
    observed_at: datetime | None

    @classmethod
    def of(cls, cluster: Cluster) -> "ClusterAnswer":
        return cls(
            id=cluster.slug,
            name=cluster.name,
            address=cluster.address,
            kind=cluster.kind,
            status=cluster.status,
            message=cluster.message,
            max_running_runs=cluster.max_running_runs,
            created_at=cluster.created_at,
            observed_at=cluster.observed_at,
        )
