"""The written table of rights: what each route needs, and who has what.

It is written by hand, not read from the application: a test compares the two, so a new route fails
until somebody has said here who may call it.
"""

from dataclasses import dataclass, field

from app.access.permissions import Permission
from app.access.repository import ObjectKind

ACCOUNT, READ, WRITE = Permission.ACCOUNT, Permission.READ, Permission.WRITE
MANAGE, ADMINISTER = Permission.MANAGE, Permission.ADMINISTER
PROJECT, EXPERIMENT, RUN = ObjectKind.PROJECT, ObjectKind.EXPERIMENT, ObjectKind.RUN
SWEEP = ObjectKind.SWEEP
EVALUATION = ObjectKind.EVALUATION
CODE = ObjectKind.CODE
EPISODE = ObjectKind.EPISODE
CHECKPOINT, PROMOTION, ADAPTER = ObjectKind.CHECKPOINT, ObjectKind.PROMOTION, ObjectKind.ADAPTER

PUBLIC = """
GET /api/v1/openapi.json
GET /api/v1/probe
GET /healthz
GET /join
GET /readyz
GET /reset
GET /shared/{secret}
GET /shared/{secret}/pictures/{lane}/{turn}.png
GET /shared/{secret}/points
GET /sign-in
MOUNT /static
POST /join
POST /reset
POST /sign-in
POST /sign-in/link
POST /sign-out
"""
"""For everybody on the network, with no permission at all."""

Right = tuple[Permission, ObjectKind | None]
TABLE: dict[Right, str] = {
    (ACCOUNT, None): """
        DELETE /api/v1/tokens/{token_id}
        GET /api/v1/tokens
        GET /help/keys
        GET /settings
        POST /api/v1/tokens
        POST /preferences/{name}
        POST /runs/views
        POST /runs/views/{view_id}/delete
        POST /settings/password
        POST /settings/sessions/revoke-others
        POST /settings/sessions/{session_id}/revoke
        POST /settings/tokens
        POST /settings/tokens/{token_id}/revoke
    """,
    (READ, None): """
        GET /
        GET /api/2.0/mlflow/experiments/get
        GET /api/2.0/mlflow/experiments/search
        GET /api/2.0/mlflow/metrics/get-history
        GET /api/2.0/mlflow/runs/get
        POST /api/2.0/mlflow/experiments/search
        POST /api/2.0/mlflow/runs/search
        GET /api/v1/clusters
        GET /api/v1/clusters/{cluster_id}
        GET /api/v1/endpoints
        GET /api/v1/endpoints/{endpoint_id}
        GET /api/v1/endpoints/{endpoint_id}/models
        GET /api/v1/experiments
        GET /api/v1/projects
        GET /api/v1/recipes
        GET /api/v1/recipes/{name}
        GET /clusters
        GET /clusters/{slug}
        GET /endpoints
        GET /endpoints/{slug}
        GET /eval-sets
        GET /evaluations
        GET /experiments
        GET /playground
        GET /projects
        GET /runs
        GET /runs.csv
        GET /runs/columns
        POST /api/v1/configs/diff
        POST /api/v1/configs/import
        POST /api/v1/configs/render
        POST /api/v1/configs/validate
    """,
    (READ, EXPERIMENT): """
        GET /api/v1/experiments/{experiment_id}
        GET /api/v1/experiments/{experiment_id}/diff
        GET /api/v1/experiments/{experiment_id}/versions
        GET /api/v1/experiments/{experiment_id}/versions/{version}
        GET /api/v1/runs
        GET /api/v1/sweeps
        GET /experiments/{slug}
        GET /experiments/{slug}/diff
        GET /experiments/{slug}/sweeps
        GET /experiments/{slug}/versions
        GET /experiments/{slug}/versions/{version}
    """,
    (READ, CODE): """
        GET /api/v1/code/{code_id}
    """,
    (READ, PROJECT): """
        GET /api/v1/eval-sets
        GET /api/v1/evaluations
        GET /api/v1/code
        GET /api/v1/episodes
        GET /api/v1/projects/{project_id}
        GET /api/v1/projects/{project_id}/members
        GET /api/v1/projects/{project_id}/secrets
        GET /projects/{slug}
        GET /projects/{slug}/code
        GET /projects/{slug}/secrets
    """,
    (READ, RUN): """
        GET /api/v1/runs/{run_id}
        GET /api/v1/runs/{run_id}/evaluations/{step}
        GET /api/v1/runs/{run_id}/evaluations/{step}/episodes/{number}
        GET /api/v1/runs/{run_id}/events
        GET /api/v1/runs/{run_id}/logs
        GET /api/v1/runs/{run_id}/logs.txt
        GET /api/v1/runs/{run_id}/metrics
        GET /api/v1/compare
        GET /api/v1/series
        GET /series
        GET /series.csv
        GET /compare
        GET /compare/mazes
        GET /compare/report.html
        GET /compare/runs
        GET /compare/statistics
        GET /runs/{slug}
        GET /adapters
        GET /api/v1/adapters
        GET /api/v1/runs/{run_id}/checkpoints
        GET /charts
        GET /runs/{slug}/attempts/{attempt}/evaluations/{step}/{number}
        GET /runs/{slug}/attempts/{attempt}/evaluations/{step}/{number}/pictures/{lane}/{turn}.png
        GET /runs/{slug}/chart
        GET /runs/{slug}/charts
        GET /runs/{slug}/checkpoints
        GET /runs/{slug}/config
        GET /runs/{slug}/log
        GET /runs/{slug}/log.txt
        GET /runs/{slug}/log/stream
        GET /runs/{slug}/mazes
        GET /runs/{slug}/package.zip
        GET /runs/{slug}/status
        GET /runs/{slug}/stream
        GET /runs/{slug}/timeline
    """,
    (WRITE, None): """
        GET /api/2.0/mlflow/experiments/get-by-name
        GET /evaluations/new
        GET /runs/new
        GET /runs/new/changes
        GET /runs/new/import
        GET /runs/new/keys
        GET /runs/new/package
        GET /runs/new/yaml
        POST /api/2.0/mlflow/experiments/create
        POST /api/2.0/mlflow/experiments/set-experiment-tag
        POST /api/2.0/mlflow/runs/create
        POST /api/2.0/mlflow/runs/delete
        POST /api/2.0/mlflow/runs/delete-tag
        POST /api/2.0/mlflow/runs/log-batch
        POST /api/2.0/mlflow/runs/log-metric
        POST /api/2.0/mlflow/runs/log-parameter
        POST /api/2.0/mlflow/runs/restore
        POST /api/2.0/mlflow/runs/set-tag
        POST /api/2.0/mlflow/runs/update
        POST /api/v1/eval-sets
        POST /api/v1/episodes
        POST /api/v1/evaluations
        POST /api/v1/experiments
        POST /api/v1/runs/external
        POST /api/v1/runs/import
        POST /api/v1/sweeps
        POST /api/v1/sweeps/preview
        POST /eval-sets
        POST /evaluations/new
        POST /runs/new
        POST /runs/new/changes
        POST /runs/new/check
        POST /runs/new/import
        POST /runs/new/package
        POST /runs/new/package/{name}
        POST /playground
        POST /runs/new/yaml
    """,
    (WRITE, CHECKPOINT): """
        GET /checkpoints/{slug}/promote
        POST /api/v1/checkpoints/{checkpoint_id}/promote
        POST /checkpoints/{slug}/promote
    """,
    (READ, PROMOTION): """
        GET /api/v1/promotions/{promotion_id}
        GET /promotions/{slug}
    """,
    (READ, ADAPTER): """
        GET /adapters/{slug}
        GET /api/v1/adapters/{adapter_id}
    """,
    (WRITE, ADAPTER): """
        DELETE /api/v1/adapters/{adapter_id}
        GET /adapters/{slug}/delete
        POST /adapters/{slug}/delete
    """,
    (READ, EVALUATION): """
        GET /api/v1/evaluations/{evaluation_id}
        GET /evaluations/{slug}
        GET /evaluations/{slug}/episodes.csv
    """,
    (WRITE, EVALUATION): """
        POST /api/v1/evaluations/{evaluation_id}/resume
        POST /api/v1/evaluations/{evaluation_id}/stop
        POST /evaluations/{slug}/resume
        POST /evaluations/{slug}/stop
    """,
    (READ, SWEEP): """
        GET /api/v1/sweeps/{sweep_id}
        GET /sweeps/{slug}
    """,
    (READ, EPISODE): """
        GET /api/v1/episodes/{episode_id}
        GET /api/v1/episodes/{episode_id}/lanes/{lane}/turns/{turn}
        GET /playground/{slug}
        GET /playground/{slug}/export.{kind}
        GET /playground/{slug}/messages
        GET /playground/{slug}/pictures/{lane}/{turn}.png
        GET /playground/{slug}/stream
    """,
    # Its deletion comes last: the others are called on the same one.
    (WRITE, EPISODE): """
        DELETE /api/v1/episodes/{episode_id}/shares/{share_id}
        GET /api/v1/episodes/{episode_id}/shares
        POST /api/v1/episodes/{episode_id}/fork
        POST /api/v1/episodes/{episode_id}/retry
        POST /api/v1/episodes/{episode_id}/shares
        POST /api/v1/episodes/{episode_id}/stop
        POST /api/v1/episodes/{episode_id}/turns
        GET /playground/{slug}/share
        POST /playground/{slug}/fork
        POST /playground/{slug}/share
        POST /playground/{slug}/shares/{share}/revoke
        POST /playground/{slug}/turns
        DELETE /api/v1/episodes/{episode_id}
    """,
    (WRITE, SWEEP): """
        GET /sweeps/{slug}/stop
        POST /api/v1/sweeps/{sweep_id}/resume
        POST /api/v1/sweeps/{sweep_id}/stop
        POST /sweeps/{slug}/resume
        POST /sweeps/{slug}/stop
    """,
    (WRITE, EXPERIMENT): """
        GET /experiments/{slug}/edit
        GET /experiments/{slug}/fork
        GET /experiments/{slug}/sweeps/new
        PATCH /api/v1/experiments/{experiment_id}
        POST /api/v1/experiments/{experiment_id}/archive
        POST /api/v1/experiments/{experiment_id}/fork
        POST /api/v1/experiments/{experiment_id}/restore
        POST /api/v1/experiments/{experiment_id}/runs
        POST /api/v1/experiments/{experiment_id}/versions
        POST /experiments/{slug}/archive
        POST /experiments/{slug}/edit
        POST /experiments/{slug}/fork
        POST /experiments/{slug}/restore
        POST /experiments/{slug}/runs
        POST /experiments/{slug}/sweeps/new
    """,
    (WRITE, PROJECT): """
        POST /api/v1/code
        POST /projects/{slug}/code
    """,
    (WRITE, RUN): """
        DELETE /api/v1/runs/{run_id}/shares/{share_id}
        GET /api/v1/runs/{run_id}/shares
        GET /runs/selected
        GET /runs/{slug}/delete
        GET /runs/{slug}/share
        GET /runs/{slug}/stop
        POST /api/v1/runs/{run_id}/delete
        POST /api/v1/runs/{run_id}/finish
        POST /api/v1/runs/{run_id}/metrics
        POST /api/v1/runs/{run_id}/restore
        POST /api/v1/runs/{run_id}/resume
        POST /api/v1/runs/{run_id}/shares
        POST /api/v1/runs/{run_id}/stop
        POST /runs/selected
        POST /runs/{slug}/delete
        POST /runs/{slug}/restore
        POST /runs/{slug}/resume
        POST /runs/{slug}/share
        POST /runs/{slug}/shares/{share}/revoke
        POST /runs/{slug}/stop
    """,
    (MANAGE, PROJECT): """
        DELETE /api/v1/projects/{project_id}/members/{name:path}
        DELETE /api/v1/projects/{project_id}/secrets/{name}
        GET /api/v1/audit
        GET /projects/{slug}/audit
        GET /projects/{slug}/audit.{kind}
        GET /projects/{slug}/invites
        GET /projects/{slug}/secrets/{name}
        PATCH /api/v1/projects/{project_id}
        POST /projects/{slug}/invites
        POST /projects/{slug}/invites/{invite_id}/revoke
        POST /projects/{slug}/members
        POST /projects/{slug}/members/change
        POST /projects/{slug}/members/remove
        POST /projects/{slug}/rename
        POST /projects/{slug}/secrets
        POST /projects/{slug}/secrets/{name}
        POST /projects/{slug}/secrets/{name}/delete
        PUT /api/v1/projects/{project_id}/members/{name:path}
        PUT /api/v1/projects/{project_id}/secrets/{name}
    """,
    (ADMINISTER, None): """
        DELETE /api/v1/clusters/{cluster_id}
        GET /api/v1/checks/{check_id}
        GET /clusters/new
        GET /clusters/{slug}/delete
        GET /clusters/{slug}/edit
        POST /api/v1/clusters
        POST /api/v1/clusters/{cluster_id}/check
        POST /clusters/new
        POST /clusters/{slug}/check
        POST /clusters/{slug}/delete
        POST /clusters/{slug}/edit
        DELETE /api/v1/endpoints/{endpoint_id}
        DELETE /api/v1/outgoing-hosts/{host_id}
        DELETE /api/v1/secrets/{name}
        GET /api/v1/outgoing-hosts
        GET /api/v1/secrets
        GET /clusters/{slug}/consents
        GET /projects/new
        GET /settings/audit
        GET /settings/audit.{kind}
        GET /settings/outgoing
        GET /settings/secrets
        GET /settings/secrets/{name}
        GET /settings/users
        GET /settings/users/{user_id}
        PATCH /api/v1/clusters/{cluster_id}
        PATCH /api/v1/endpoints/{endpoint_id}
        POST /api/v1/endpoints
        POST /api/v1/endpoints/{endpoint_id}/check
        POST /api/v1/outgoing-hosts
        POST /api/v1/outgoing-hosts/check
        POST /api/v1/projects
        POST /clusters/{slug}/consents
        POST /endpoints
        POST /endpoints/{slug}
        POST /endpoints/{slug}/check
        POST /endpoints/{slug}/remove
        POST /projects/new
        POST /settings/invites
        POST /settings/invites/{invite_id}/revoke
        POST /settings/outgoing
        POST /settings/outgoing/try
        POST /settings/outgoing/{slug}/remove
        POST /settings/secrets
        POST /settings/secrets/{name}
        POST /settings/secrets/{name}/delete
        POST /settings/users/{user_id}/disable
        POST /settings/users/{user_id}/enable
        POST /settings/users/{user_id}/reset
        POST /settings/users/{user_id}/role
        PUT /api/v1/secrets/{name}
    """,
}

Place = tuple[str, str]
"""(method, path)."""


def places(text: str) -> list[Place]:
    found = [tuple(line.split()) for line in text.strip().splitlines()]
    return [(method, path) for method, path in found]


RIGHTS: dict[Place, Right] = {
    place: right for right, text in TABLE.items() for place in places(text)
}


@dataclass(frozen=True, slots=True)
class Caller:
    """`ours` and `theirs`: what they may do in each of the two projects; `anywhere`: on routes
    that name no object."""

    ours: frozenset[Permission] = frozenset()
    theirs: frozenset[Permission] = frozenset()
    anywhere: frozenset[Permission] = field(default_factory=lambda: frozenset({READ}))


_VIEWER = frozenset({READ})
_MEMBER = frozenset({READ, WRITE})
_ADMINISTRATOR = frozenset({READ, WRITE, MANAGE})
_ALL = frozenset(Permission)

PEOPLE = {
    "nobody": Caller(anywhere=frozenset({READ, ACCOUNT})),
    "viewer": Caller(ours=_VIEWER, anywhere=_VIEWER | {ACCOUNT}),
    "member": Caller(ours=_MEMBER, anywhere=_MEMBER | {ACCOUNT}),
    "administrator": Caller(ours=_ADMINISTRATOR, anywhere=_ADMINISTRATOR | {ACCOUNT}),
    "site administrator": Caller(ours=_ADMINISTRATOR, theirs=_ADMINISTRATOR, anywhere=_ALL),
}
"""Each has a browser for the pages and a token of all their rights for the API."""

TOKENS = {
    "read token": Caller(ours=_VIEWER, anywhere=_VIEWER),
    "write token": Caller(ours=_MEMBER, anywhere=_MEMBER),
    "admin token": Caller(ours=_ADMINISTRATOR, anywhere=_ADMINISTRATOR | {ACCOUNT}),
    "viewer's admin token": Caller(ours=_VIEWER, anywhere=_VIEWER | {ACCOUNT}),
    "bound admin token": Caller(ours=_ADMINISTRATOR, anywhere=_ADMINISTRATOR),
    "host's token": Caller(ours=_ADMINISTRATOR, theirs=_ADMINISTRATOR, anywhere=_ALL),
    "removed member's token": Caller(),
}
"""The first three are a project administrator's; the bound one is a site administrator's, for
`ours` alone; the host's was made by `skydeck token create`."""

UNKNOWN = ("stranger", "disabled user", "revoked token")
"""Who is let in nowhere. The disabled user administers the project `ours`."""
