"""Ray clusters that runs may be submitted to, and the workers that look after them."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, IdMixin, LeaseMixin, text_enum


class ClusterKind(StrEnum):
    """How a cluster is reached: started by us, by its dashboard's URL, through Kubernetes."""

    EMBEDDED = "embedded"
    HTTP = "http"
    HYPERPOD = "hyperpod"


class CredentialKind(StrEnum):
    """What proves to a cluster who we are."""

    NONE = "none"
    TOKEN = "token"  # noqa: S105 - the name of a kind
    AWS = "aws"
    KUBECONFIG = "kubeconfig"


class ClusterStatus(StrEnum):
    """As last observed by the worker."""

    STARTING = "starting"
    READY = "ready"
    UNREACHABLE = "unreachable"
    FAILED = "failed"
    STOPPED = "stopped"


class Cluster(IdMixin, LeaseMixin, Base):
    """`details` holds what the last look found: Ray version, nodes with CPUs and memory.

    `access` is the public half of the credential (EKS cluster, region, role, key id, server,
    authorities); the secret half is the site's secret called `secret_name`. `removed_at`: nothing
    is submitted any more, and the row is kept for its runs.

    An administrator's two consents: `runs_member_code` (recipes that bring code of their own) and
    `shows_secrets` (secrets in a job's environment, which Ray shows to whoever reaches its API).
    """

    __tablename__ = "cluster"

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    kind: Mapped[ClusterKind] = mapped_column(text_enum(ClusterKind))
    address: Mapped[str] = mapped_column(String(500))
    status: Mapped[ClusterStatus] = mapped_column(text_enum(ClusterStatus))
    message: Mapped[str] = mapped_column(Text, default="")
    session_name: Mapped[str | None] = mapped_column(String(100))
    details: Mapped[dict[str, Any]] = mapped_column(default=dict)
    max_running_runs: Mapped[int] = mapped_column(default=1)
    runs_member_code: Mapped[bool] = mapped_column(default=False)
    shows_secrets: Mapped[bool] = mapped_column(default=False)
    credential: Mapped[CredentialKind] = mapped_column(
        text_enum(CredentialKind), default=CredentialKind.NONE
    )
    access: Mapped[dict[str, Any]] = mapped_column(default=dict)
    secret_name: Mapped[str | None] = mapped_column(String(100))
    created_at: Mapped[datetime]
    observed_at: Mapped[datetime | None]
    removed_at: Mapped[datetime | None]


class CheckStatus(StrEnum):
    QUEUED = "queued"
    DONE = "done"


class ClusterCheck(IdMixin, LeaseMixin, Base):
    """A check of a cluster's connection that somebody asked for, and what the worker found.

    `findings` are `{name, ok, message}`, in the order in which they were looked at.
    """

    __tablename__ = "cluster_check"

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    cluster_id: Mapped[UUID] = mapped_column(ForeignKey("cluster.id"), index=True)
    status: Mapped[CheckStatus] = mapped_column(text_enum(CheckStatus))
    findings: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    asked_by: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class Worker(Base):
    """A worker process that is, or was, alive; it renews `seen_at` every few seconds."""

    __tablename__ = "worker"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    host: Mapped[str] = mapped_column(String(200))
    process_id: Mapped[int]
    started_at: Mapped[datetime]
    seen_at: Mapped[datetime]
