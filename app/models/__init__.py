"""One file an entity; importing this package registers every table."""

from app.models.adapter import Adapter, AdapterStatus, Promotion, PromotionStatus
from app.models.base import Base
from app.models.checkpoint import Checkpoint, CheckpointKind, CheckpointWatch
from app.models.cluster import (
    CheckStatus,
    Cluster,
    ClusterCheck,
    ClusterKind,
    ClusterStatus,
    CredentialKind,
    Worker,
)
from app.models.code import CodeChunk, CodeUpload
from app.models.endpoint import Endpoint, EndpointKind, EndpointStatus
from app.models.episode import Episode, EpisodeLane, EpisodeTurn, TrainingRollouts
from app.models.evaluation import (
    CustomEvalSet,
    Evaluation,
    EvaluationItem,
    EvaluationStatus,
)
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
    "Adapter",
    "AdapterStatus",
    "AllowedHost",
    "ApiToken",
    "Attempt",
    "AttemptStatus",
    "AuditEntry",
    "AuditOutcome",
    "Base",
    "CheckStatus",
    "Checkpoint",
    "CheckpointKind",
    "CheckpointWatch",
    "Cluster",
    "ClusterCheck",
    "ClusterKind",
    "ClusterStatus",
    "CodeChunk",
    "CodeUpload",
    "Config",
    "ConfigKey",
    "ConfigValue",
    "CredentialKind",
    "CustomEvalSet",
    "DesiredStatus",
    "Endpoint",
    "EndpointKind",
    "EndpointStatus",
    "Episode",
    "EpisodeLane",
    "EpisodeTurn",
    "Evaluation",
    "EvaluationItem",
    "EvaluationStatus",
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
    "Promotion",
    "PromotionStatus",
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
    "TrainingRollouts",
    "User",
    "UserSession",
    "Worker",
]
