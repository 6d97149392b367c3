"""JSON shapes of clusters."""

from datetime import datetime

from pydantic import Field

from app.api.schemas import Answer, Body
from app.models import Cluster, ClusterKind, ClusterStatus


class ClusterAnswer(Answer):
    id: str = Field(examples=["embedded"])
    name: str
    address: str
    kind: ClusterKind
    status: ClusterStatus
    message: str
    max_running_runs: int
    runs_member_code: bool = Field(description="Takes recipes that bring code of their own")
    shows_secrets: bool = Field(description="May be given secrets, which Ray shows to its users")
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
            runs_member_code=cluster.runs_member_code,
            shows_secrets=cluster.shows_secrets,
            created_at=cluster.created_at,
            observed_at=cluster.observed_at,
        )


class ClusterChange(Body):
    """What an administrator agrees to; what is left out stays as it is."""

    runs_member_code: bool | None = Field(
        default=None,
        description="Embedded cluster: also run recipes whose code is not Skydeck's. It runs as "
        "the service's own user and can read the user's files",
    )
    shows_secrets: bool | None = Field(
        default=None,
        description="Put secrets into jobs' environments, which Ray shows to everybody who "
        "reaches the cluster",
    )
