"""One file an entity; importing this package registers every table."""

from app.models.base import Base
from app.models.cluster import Cluster, ClusterKind, ClusterStatus, Worker
from app.models.code import CodeChunk, CodeUpload
from app.models.log import LogChunk, LogStream
from app.models.metric import MetricChunk, MetricKey, MetricSeries, TrainingEvaluation
from app.models.project import (
    Config,
    ConfigKey,
    ConfigValue,
    Experiment,
    Project,
    ProjectMember,
    Role,
)
from app.models.run import (
    Attempt,
    AttemptStatus,
    DesiredStatus,
    Event,
    IdempotencyKey,
    Run,
    RunOrigin,
    RunStatus,
    RunTag,
    SavedView,
    TrackingEntry,
)
from app.models.security import AllowedHost, AuditEntry, AuditOutcome, Secret, ShareLink
from app.models.sweep import Sweep, SweepKind
from app.models.user import (
    ApiToken,
    Invite,
    LinkPurpose,
    SignInFailure,
    SignInLink,
    User,
    UserSession,
)

__all__ = [
    "AllowedHost",
    "ApiToken",
    "Attempt",
    "AttemptStatus",
    "AuditEntry",
    "AuditOutcome",
    "Base",
    "Cluster",
    "ClusterKind",
    "ClusterStatus",
    "CodeChunk",
    "CodeUpload",
    "Config",
    "ConfigKey",
    "ConfigValue",
    "DesiredStatus",
    "Event",
    "Experiment",
    "IdempotencyKey",
    "Invite",
    "LinkPurpose",
    "LogChunk",
    "LogStream",
    "MetricChunk",
    "MetricKey",
    "MetricSeries",
    "Project",
    "ProjectMember",
    "Role",
    "Run",
    "RunOrigin",
    "RunStatus",
    "RunTag",
    "SavedView",
    "Secret",
    "ShareLink",
    "SignInFailure",
    "SignInLink",
    "Sweep",
    "SweepKind",
    "TrackingEntry",
    "TrainingEvaluation",
    "User",
    "UserSession",
    "Worker",
]
