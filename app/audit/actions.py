"""The names of all audited changes: `<object>.<verb>`; `docs/audit.md` lists them."""

from enum import StrEnum


class Action(StrEnum):
    RUN_CREATE = "run.create"
    RUN_STOP = "run.stop"
    RUN_RESUME = "run.resume"
    RUN_DELETE = "run.delete"
    RUN_RESTORE = "run.restore"
    RUN_PUSH = "run.push"
    RUN_FINISH = "run.finish"
    EXPERIMENT_CREATE = "experiment.create"
    EXPERIMENT_VERSION = "experiment.version"
    EXPERIMENT_CHANGE = "experiment.change"
    EXPERIMENT_FORK = "experiment.fork"
    EXPERIMENT_ARCHIVE = "experiment.archive"
    EXPERIMENT_RESTORE = "experiment.restore"
    CODE_UPLOAD = "code.upload"
    SWEEP_CREATE = "sweep.create"
    SWEEP_STOP = "sweep.stop"
    SWEEP_RESUME = "sweep.resume"
    ADAPTER_PROMOTE = "adapter.promote"
    ADAPTER_DELETE = "adapter.delete"
    EPISODE_CREATE = "episode.create"
    EPISODE_PLAY = "episode.play"
    EPISODE_FORK = "episode.fork"
    EPISODE_STOP = "episode.stop"
    EPISODE_DELETE = "episode.delete"
    EVAL_SET_CREATE = "eval_set.create"
    EVALUATION_CREATE = "evaluation.create"
    EVALUATION_STOP = "evaluation.stop"
    EVALUATION_RESUME = "evaluation.resume"
    PROJECT_CREATE = "project.create"
    PROJECT_RENAME = "project.rename"
    MEMBER_ADD = "member.add"
    MEMBER_CHANGE = "member.change"
    MEMBER_REMOVE = "member.remove"
    USER_CREATE = "user.create"
    USER_CHANGE = "user.change"
    USER_DISABLE = "user.disable"
    USER_ENABLE = "user.enable"
    PASSWORD_SET = "password.set"  # noqa: S105 - the name of an action
    PASSWORD_RESET = "password.reset"  # noqa: S105 - the name of an action
    LINK_CREATE = "link.create"
    INVITE_CREATE = "invite.create"
    INVITE_REVOKE = "invite.revoke"
    SIGN_IN = "session.sign_in"
    SIGN_OUT = "session.sign_out"
    SESSION_REVOKE = "session.revoke"
    TOKEN_CREATE = "token.create"  # noqa: S105 - the name of an action
    TOKEN_REVOKE = "token.revoke"  # noqa: S105 - the name of an action
    SHARE_CREATE = "share.create"
    SHARE_REVOKE = "share.revoke"
    SECRET_CREATE = "secret.create"  # noqa: S105 - the name of an action
    SECRET_CHANGE = "secret.change"  # noqa: S105 - the name of an action
    SECRET_DELETE = "secret.delete"  # noqa: S105 - the name of an action
    SECRET_ROTATE = "secret.rotate"  # noqa: S105 - the name of an action
    HOST_ALLOW = "host.allow"
    HOST_REFUSE = "host.refuse"
    ENDPOINT_CREATE = "endpoint.create"
    ENDPOINT_CHANGE = "endpoint.change"
    ENDPOINT_REMOVE = "endpoint.remove"
    CLUSTER_CHANGE = "cluster.change"
    ACCESS = "access"
    """A request that was denied; `details` name its method, path and the permission it lacked."""
