"""One file an entity; importing this package registers every table."""

from app.models.base import Base
from app.models.cluster import Cluster, ClusterKind, ClusterStatus, Worker
from app.models.log import LogChunk, LogStream
from app.models.metric import MetricChunk, MetricSeries, TrainingEvaluation
from app.models.project import Config, ConfigValue, Experiment, Project
from app.models.run import (
    Attempt,
    AttemptStatus,
    DesiredStatus,
    Event,
    IdempotencyKey,
    Run,
    RunOrigin,
    RunStatus,
)
from app.models.user import ApiToken, SignInLink, User, UserSession

__all__ = [
    "ApiToken",
    "Attempt",
    "AttemptStatus",
    "Base",
    "Cluster",
    "ClusterKind",
    "ClusterStatus",
    "Config",
    "ConfigValue",
    "DesiredStatus",
    "Event",
    "Experiment",
    "IdempotencyKey",
    "LogChunk",
    "LogStream",
    "MetricChunk",
    "MetricSeries",
    "Project",
    "Run",
    "RunOrigin",
    "RunStatus",
    "SignInLink",
    "TrainingEvaluation",
    "User",
    "UserSession",
    "Worker",
]
