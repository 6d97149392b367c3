"""JSON shapes of clusters and their checks. No answer holds a credential."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, Field, JsonValue, StringConstraints

from app.api.schemas import Answer, Body, no_nul
from app.clusters.registration import Wish
from app.k8s.kubeconfig import MAX_BYTES
from app.models import (
    CheckStatus,
    Cluster,
    ClusterCheck,
    ClusterKind,
    ClusterStatus,
    CredentialKind,
)
from app.ray.address import EXAMPLES

_Text = Annotated[str, StringConstraints(max_length=1_000), AfterValidator(no_nul)]
_Long = Annotated[str, StringConstraints(max_length=MAX_BYTES), AfterValidator(no_nul)]
_HIDDEN: dict[str, JsonValue] = {"writeOnly": True}


class ClusterAnswer(Answer):
    id: str = Field(examples=["embedded"])
    name: str
    address: str
    kind: ClusterKind
    status: ClusterStatus
    message: str
    credential: CredentialKind
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
            credential=cluster.credential,
            max_running_runs=cluster.max_running_runs,
            runs_member_code=cluster.runs_member_code,
            shows_secrets=cluster.shows_secrets,
            created_at=cluster.created_at,
            observed_at=cluster.observed_at,
        )


class ClusterBody(Body):
    """A cluster with its credential; which fields that needs, `docs/clusters.md` says."""

    name: _Text
    address: _Text = Field(description=EXAMPLES)
    credential: CredentialKind = CredentialKind.NONE
    secret: _Long = Field(
        default="",
        description="The bearer token, or the AWS secret access key; never given back",
        json_schema_extra=_HIDDEN,
    )
    eks_cluster: _Text = ""
    region: _Text = Field(default="", examples=["us-west-2"])
    role_arn: _Text = Field(default="", description="An AWS role to assume; none if empty")
    access_key_id: _Text = Field(
        default="", description="Of an AWS user; if empty, this machine's own role is taken"
    )
    kubeconfig: _Long = Field(
        default="",
        description="The file's text, with a token and an inline authority; never given back",
        json_schema_extra=_HIDDEN,
    )
    ca: _Long = Field(
        default="", description="Authority of the dashboard's certificate in PEM, if it is private"
    )
    max_running_runs: int = Field(default=1, description="Runs under way at a time")

    def wish(self) -> Wish:
        values = self.model_dump()
        return Wish(**{name: str(value) for name, value in values.items()})


class ClusterChange(Body):
    """What is left out stays as it is; an empty `secret` or `kubeconfig`, too.

    The embedded cluster takes the two consents alone.
    """

    name: _Text | None = None
    address: _Text | None = None
    credential: CredentialKind | None = None
    secret: _Long | None = Field(default=None, json_schema_extra=_HIDDEN)
    eks_cluster: _Text | None = None
    region: _Text | None = None
    role_arn: _Text | None = None
    access_key_id: _Text | None = None
    kubeconfig: _Long | None = Field(default=None, json_schema_extra=_HIDDEN)
    ca: _Long | None = None
    max_running_runs: int | None = None
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

    def wish(self, before: Wish) -> Wish | None:
        """The cluster as it shall be; None if nothing but consents is changed."""
        given = self.model_dump(exclude_none=True, exclude={"runs_member_code", "shows_secrets"})
        if not given:
            return None
        return replace(before, **{name: str(value) for name, value in given.items()})


class FindingAnswer(Answer):
    name: str = Field(examples=["connection"])
    ok: bool
    message: str = Field(description="What was found, or what is wrong and what to do")


class CheckAnswer(Answer):
    id: str = Field(examples=["check-7fk2m9qd"])
    cluster_id: str
    status: CheckStatus
    checks: list[FindingAnswer]
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, check: ClusterCheck, cluster: Cluster) -> "CheckAnswer":
        rows: list[dict[str, Any]] = check.findings
        return cls(
            id=check.slug,
            cluster_id=cluster.slug,
            status=check.status,
            checks=[FindingAnswer(**row) for row in rows],
            created_at=check.created_at,
            ended_at=check.ended_at,
        )


class ProbeAnswer(Answer):
    proof: str
