"""For each route that changes something: a request that it accepts, and the action it leaves.

A new route needs a row in `SAMPLES`, or a reason in `UNCHANGING`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.audit.actions import Action
from tests.audit import prepare
from tests.audit.prepare import CLUSTER, ENDPOINT, Prepare
from tests.audit.world import PASSWORD
from tests.factories import RECIPE, SMALL_ZIP


@dataclass(frozen=True, slots=True)
class Sample:
    """`prepare` makes what the request needs; its names fill the address and texts of the body.

    `wrong` is a body that is refused where anybody may ask: the row is then of `action`, too.
    `is_signed_in`: whether the administrator asks, or somebody unknown. `query` follows the path.
    """

    action: Action
    prepare: Prepare
    body: Mapping[str, Any] = field(default_factory=dict)
    wrong: Mapping[str, Any] | None = None
    is_signed_in: bool = True
    query: str = ""


_CLUSTER_FORM = {
    "name": "Team Ray",
    "address": "https://ray.example.com",
    "credential": "token",
    "token": "ray_9d8c7b6a5f",
    "max_running_runs": "2",
}
_NEW_PASSWORD = {"password": PASSWORD, "repeat": PASSWORD}
_MLFLOW = "POST /api/2.0/mlflow"
_NAMED = {"run_id": "{run_id}"}
_ENTRY = _NAMED | {"key": "note", "value": "quite-unusual"}
_POINTS = {"points": [{"key": "loss", "step": 1, "value": 0.5}]}
_VALUE = {"value": "hf_9d8c7b6a5f"}
_SERVER = {"name": "Ours", "base_url": "https://9.9.9.9/v1", "key": ""}
_HOST = {"host": "ray.internal", "reason": "the team's cluster"}
_EVAL_SET = {
    "name": "mine",
    "env_id": "maze_2d/easy",
    "seeds": [0, 1],
    "max_turns": 15,
    "project": "{project}",
}
_TOKEN = {"name": "laptop", "scope": "read"}

SAMPLES: dict[str, Sample] = {
    "PATCH /api/v1/clusters/{cluster_id}": Sample(
        Action.CLUSTER_CHANGE, prepare.cluster, {"runs_member_code": True}
    ),
    "POST /api/v1/clusters": Sample(Action.CLUSTER_CREATE, prepare.nothing, CLUSTER),
    "POST /clusters/new": Sample(Action.CLUSTER_CREATE, prepare.nothing, _CLUSTER_FORM),
    "POST /clusters/{slug}/edit": Sample(Action.CLUSTER_CHANGE, prepare.registered, _CLUSTER_FORM),
    "DELETE /api/v1/clusters/{cluster_id}": Sample(Action.CLUSTER_DELETE, prepare.registered),
    "POST /clusters/{slug}/delete": Sample(
        Action.CLUSTER_DELETE, prepare.registered, {"confirm": "Team Ray"}
    ),
    "POST /api/v1/clusters/{cluster_id}/check": Sample(Action.CLUSTER_CHECK, prepare.registered),
    "POST /clusters/{slug}/check": Sample(Action.CLUSTER_CHECK, prepare.registered),
    "POST /clusters/{slug}/consents": Sample(
        Action.CLUSTER_CHANGE, prepare.cluster, {"runs_member_code": "true", "confirm": "Embedded"}
    ),
    "POST /api/v1/experiments": Sample(
        Action.EXPERIMENT_CREATE, prepare.nothing, {"name": "rank", "recipe": RECIPE}
    ),
    "POST /api/v1/experiments/{experiment_id}/runs": Sample(Action.RUN_CREATE, prepare.experiment),
    "POST /experiments/{slug}/runs": Sample(Action.RUN_CREATE, prepare.shelf),
    "POST /api/v1/experiments/{experiment_id}/versions": Sample(
        Action.EXPERIMENT_VERSION, prepare.experiment, {"config": {"trainer.seed": 7}}
    ),
    "PATCH /api/v1/experiments/{experiment_id}": Sample(
        Action.EXPERIMENT_CHANGE, prepare.experiment, {"name": "Another question"}
    ),
    "POST /experiments/{slug}/edit": Sample(
        Action.EXPERIMENT_CHANGE, prepare.shelf, {"name": "Another question"}
    ),
    "POST /api/v1/experiments/{experiment_id}/fork": Sample(
        Action.EXPERIMENT_FORK, prepare.experiment
    ),
    "POST /experiments/{slug}/fork": Sample(Action.EXPERIMENT_FORK, prepare.shelf),
    "POST /api/v1/experiments/{experiment_id}/archive": Sample(
        Action.EXPERIMENT_ARCHIVE, prepare.experiment
    ),
    "POST /experiments/{slug}/archive": Sample(Action.EXPERIMENT_ARCHIVE, prepare.shelf),
    "POST /api/v1/experiments/{experiment_id}/restore": Sample(
        Action.EXPERIMENT_RESTORE, prepare.archived
    ),
    "POST /experiments/{slug}/restore": Sample(Action.EXPERIMENT_RESTORE, prepare.archived),
    "POST /api/v1/eval-sets": Sample(Action.EVAL_SET_CREATE, prepare.nothing, _EVAL_SET),
    "POST /eval-sets": Sample(
        Action.EVAL_SET_CREATE, prepare.nothing, _EVAL_SET | {"seeds": "0-3"}
    ),
    "POST /api/v1/evaluations": Sample(
        Action.EVALUATION_CREATE,
        prepare.served,
        {
            "models": [{"endpoint": ENDPOINT, "model": "a"}],
            "eval_set": "easy-0-63-t15",
            "project": "{project}",
        },
    ),
    "POST /evaluations/new": Sample(
        Action.EVALUATION_CREATE,
        prepare.served,
        {"models": f"{ENDPOINT} a", "project": "{project}"},
    ),
    "POST /api/v1/evaluations/{evaluation_id}/stop": Sample(
        Action.EVALUATION_STOP, prepare.evaluation
    ),
    "POST /evaluations/{slug}/stop": Sample(Action.EVALUATION_STOP, prepare.evaluation),
    "POST /api/v1/evaluations/{evaluation_id}/resume": Sample(
        Action.EVALUATION_RESUME, prepare.stopped_evaluation
    ),
    "POST /evaluations/{slug}/resume": Sample(Action.EVALUATION_RESUME, prepare.stopped_evaluation),
    "POST /api/v1/sweeps": Sample(
        Action.SWEEP_CREATE,
        prepare.experiment,
        {
            "experiment": "{experiment_id}",
            "space": {"kind": "grid", "keys": {"trainer.seed": [1, 2]}},
        },
    ),
    "POST /experiments/{slug}/sweeps/new": Sample(
        Action.SWEEP_CREATE,
        prepare.shelf,
        {"kind": "grid", "key-0": "trainer.seed", "values-0": "1, 2", "do": "launch"},
    ),
    "POST /api/v1/sweeps/{sweep_id}/stop": Sample(Action.SWEEP_STOP, prepare.sweep),
    "POST /sweeps/{slug}/stop": Sample(Action.SWEEP_STOP, prepare.sweep),
    "POST /api/v1/sweeps/{sweep_id}/resume": Sample(Action.SWEEP_RESUME, prepare.stopped_sweep),
    "POST /sweeps/{slug}/resume": Sample(Action.SWEEP_RESUME, prepare.stopped_sweep),
    "POST /api/v1/checkpoints/{checkpoint_id}/promote": Sample(
        Action.ADAPTER_PROMOTE, prepare.exported
    ),
    "POST /checkpoints/{slug}/promote": Sample(
        Action.ADAPTER_PROMOTE, prepare.exported, {"adapter_name": "mine"}
    ),
    "DELETE /api/v1/adapters/{adapter_id}": Sample(Action.ADAPTER_DELETE, prepare.promoted),
    "POST /adapters/{slug}/delete": Sample(Action.ADAPTER_DELETE, prepare.promoted),
    "POST /api/v1/runs/external": Sample(Action.RUN_CREATE, prepare.nothing, {"name": "outside"}),
    "POST /api/v1/runs/import": Sample(
        Action.RUN_CREATE, prepare.nothing, {"runs": [{"name": "outside"}]}
    ),
    "POST /runs/new": Sample(
        Action.RUN_CREATE,
        prepare.nothing,
        {"recipe": RECIPE, "experiment": "rank", "project": "{project}"},
    ),
    "POST /api/v1/runs/{run_id}/stop": Sample(Action.RUN_STOP, prepare.queued),
    "POST /runs/{slug}/stop": Sample(Action.RUN_STOP, prepare.queued),
    "POST /api/v1/runs/{run_id}/resume": Sample(Action.RUN_RESUME, prepare.stopped),
    "POST /runs/{slug}/resume": Sample(Action.RUN_RESUME, prepare.stopped),
    "POST /runs/selected": Sample(
        Action.RUN_CHANGE, prepare.stopped, {"tag": "kept"}, query="?action=tag&run={slug}"
    ),
    "POST /api/v1/runs/{run_id}/delete": Sample(Action.RUN_DELETE, prepare.stopped),
    "POST /runs/{slug}/delete": Sample(Action.RUN_DELETE, prepare.stopped),
    "POST /api/v1/runs/{run_id}/restore": Sample(Action.RUN_RESTORE, prepare.deleted),
    "POST /runs/{slug}/restore": Sample(Action.RUN_RESTORE, prepare.deleted),
    "POST /api/v1/runs/{run_id}/finish": Sample(
        Action.RUN_FINISH, prepare.external, {"status": "succeeded"}
    ),
    "POST /api/v1/runs/{run_id}/metrics": Sample(Action.RUN_PUSH, prepare.external, _POINTS),
    f"{_MLFLOW}/experiments/create": Sample(
        Action.EXPERIMENT_CREATE, prepare.nothing, {"name": "mazes"}
    ),
    f"{_MLFLOW}/runs/create": Sample(
        Action.RUN_CREATE, prepare.experiment, {"experiment_id": "{experiment_id}", "run_name": "x"}
    ),
    f"{_MLFLOW}/runs/update": Sample(
        Action.RUN_FINISH, prepare.external, _NAMED | {"status": "FAILED"}
    ),
    f"{_MLFLOW}/runs/delete": Sample(Action.RUN_DELETE, prepare.stopped, _NAMED),
    f"{_MLFLOW}/runs/restore": Sample(Action.RUN_RESTORE, prepare.deleted, _NAMED),
    f"{_MLFLOW}/runs/log-metric": Sample(
        Action.RUN_PUSH, prepare.external, _NAMED | {"key": "loss", "value": 0.5, "step": 1}
    ),
    f"{_MLFLOW}/runs/log-batch": Sample(
        Action.RUN_PUSH, prepare.external, _NAMED | {"metrics": [{"key": "loss", "value": 0.5}]}
    ),
    f"{_MLFLOW}/runs/log-parameter": Sample(Action.RUN_PUSH, prepare.external, _ENTRY),
    f"{_MLFLOW}/runs/set-tag": Sample(Action.RUN_PUSH, prepare.external, _ENTRY),
    f"{_MLFLOW}/runs/delete-tag": Sample(Action.RUN_PUSH, prepare.external, _ENTRY),
    "POST /api/v1/runs/{run_id}/shares": Sample(Action.SHARE_CREATE, prepare.external),
    "POST /runs/{slug}/share": Sample(Action.SHARE_CREATE, prepare.external),
    "DELETE /api/v1/runs/{run_id}/shares/{share_id}": Sample(Action.SHARE_REVOKE, prepare.shared),
    "POST /runs/{slug}/shares/{share}/revoke": Sample(Action.SHARE_REVOKE, prepare.shared),
    "POST /playground": Sample(
        Action.EPISODE_CREATE,
        prepare.nothing,
        {"lane-1": "you", "seed": "3", "project": "{project}"},
    ),
    "POST /playground/{slug}/turns": Sample(
        Action.EPISODE_PLAY, prepare.own_episode, {"do": "move", "move": "right"}
    ),
    "POST /playground/{slug}/fork": Sample(Action.EPISODE_FORK, prepare.own_episode, {"turn": "0"}),
    "POST /api/v1/episodes": Sample(
        Action.EPISODE_CREATE, prepare.nothing, {"lanes": [{}], "project": "{project}"}
    ),
    "POST /api/v1/episodes/{episode_id}/turns": Sample(
        Action.EPISODE_PLAY, prepare.own_episode, {"action": "right"}
    ),
    "POST /api/v1/episodes/{episode_id}/retry": Sample(Action.EPISODE_PLAY, prepare.failed_episode),
    "POST /api/v1/episodes/{episode_id}/stop": Sample(Action.EPISODE_STOP, prepare.own_episode),
    "POST /api/v1/episodes/{episode_id}/fork": Sample(
        Action.EPISODE_FORK, prepare.own_episode, {"turn": 0}
    ),
    "DELETE /api/v1/episodes/{episode_id}": Sample(Action.EPISODE_DELETE, prepare.own_episode),
    "POST /api/v1/episodes/{episode_id}/shares": Sample(Action.SHARE_CREATE, prepare.own_episode),
    "DELETE /api/v1/episodes/{episode_id}/shares/{share_id}": Sample(
        Action.SHARE_REVOKE, prepare.shared_episode
    ),
    "POST /playground/{slug}/share": Sample(Action.SHARE_CREATE, prepare.own_episode),
    "POST /playground/{slug}/shares/{share}/revoke": Sample(
        Action.SHARE_REVOKE, prepare.shared_episode
    ),
    "POST /api/v1/code": Sample(Action.CODE_UPLOAD, prepare.nothing, {"file": SMALL_ZIP}),
    "POST /projects/{slug}/code": Sample(Action.CODE_UPLOAD, prepare.nothing, {"code": SMALL_ZIP}),
    "POST /api/v1/projects": Sample(Action.PROJECT_CREATE, prepare.nothing, {"name": "Vision"}),
    "POST /projects/new": Sample(Action.PROJECT_CREATE, prepare.nothing, {"name": "Vision"}),
    "PATCH /api/v1/projects/{project_id}": Sample(
        Action.PROJECT_RENAME, prepare.nothing, {"name": "Vision"}
    ),
    "POST /projects/{slug}/rename": Sample(
        Action.PROJECT_RENAME, prepare.nothing, {"project_name": "Vision"}
    ),
    "PUT /api/v1/projects/{project_id}/members/{name:path}": Sample(
        Action.MEMBER_ADD, prepare.somebody_new, {"role": "viewer"}
    ),
    "POST /projects/{slug}/members": Sample(
        Action.MEMBER_ADD, prepare.person, {"name": "{person}", "role": "viewer"}
    ),
    "POST /projects/{slug}/members/change": Sample(
        Action.MEMBER_CHANGE, prepare.member, {"name": "{person}", "role": "member"}
    ),
    "DELETE /api/v1/projects/{project_id}/members/{name:path}": Sample(
        Action.MEMBER_REMOVE, prepare.member
    ),
    "POST /projects/{slug}/members/remove": Sample(
        Action.MEMBER_REMOVE, prepare.member, {"name": "{person}"}
    ),
    "PUT /api/v1/projects/{project_id}/secrets/{name}": Sample(
        Action.SECRET_CREATE, prepare.secret_name, _VALUE
    ),
    "POST /projects/{slug}/secrets": Sample(
        Action.SECRET_CREATE, prepare.secret_name, {"name": "{name}"} | _VALUE
    ),
    "POST /projects/{slug}/secrets/{name}": Sample(
        Action.SECRET_CHANGE, prepare.project_secret, _VALUE
    ),
    "DELETE /api/v1/projects/{project_id}/secrets/{name}": Sample(
        Action.SECRET_DELETE, prepare.project_secret
    ),
    "POST /projects/{slug}/secrets/{name}/delete": Sample(
        Action.SECRET_DELETE, prepare.project_secret
    ),
    "PUT /api/v1/secrets/{name}": Sample(Action.SECRET_CHANGE, prepare.site_secret, _VALUE),
    "POST /settings/secrets": Sample(
        Action.SECRET_CREATE, prepare.secret_name, {"name": "{name}"} | _VALUE
    ),
    "POST /settings/secrets/{name}": Sample(Action.SECRET_CHANGE, prepare.site_secret, _VALUE),
    "DELETE /api/v1/secrets/{name}": Sample(Action.SECRET_DELETE, prepare.site_secret),
    "POST /settings/secrets/{name}/delete": Sample(Action.SECRET_DELETE, prepare.site_secret),
    "POST /api/v1/tokens": Sample(Action.TOKEN_CREATE, prepare.nothing, _TOKEN),
    "POST /settings/tokens": Sample(Action.TOKEN_CREATE, prepare.nothing, _TOKEN),
    "DELETE /api/v1/tokens/{token_id}": Sample(Action.TOKEN_REVOKE, prepare.token),
    "POST /settings/tokens/{token_id}/revoke": Sample(Action.TOKEN_REVOKE, prepare.token),
    "POST /api/v1/endpoints": Sample(Action.ENDPOINT_CREATE, prepare.nothing, _SERVER),
    "POST /endpoints": Sample(Action.ENDPOINT_CREATE, prepare.nothing, _SERVER),
    "PATCH /api/v1/endpoints/{endpoint_id}": Sample(
        Action.ENDPOINT_CHANGE, prepare.endpoint, _SERVER
    ),
    "POST /endpoints/{slug}": Sample(Action.ENDPOINT_CHANGE, prepare.endpoint, _SERVER),
    "DELETE /api/v1/endpoints/{endpoint_id}": Sample(Action.ENDPOINT_REMOVE, prepare.endpoint),
    "POST /endpoints/{slug}/remove": Sample(Action.ENDPOINT_REMOVE, prepare.endpoint),
    "POST /api/v1/outgoing-hosts": Sample(Action.HOST_ALLOW, prepare.nothing, _HOST),
    "POST /settings/outgoing": Sample(Action.HOST_ALLOW, prepare.nothing, _HOST),
    "DELETE /api/v1/outgoing-hosts/{host_id}": Sample(Action.HOST_REFUSE, prepare.host),
    "POST /settings/outgoing/{slug}/remove": Sample(Action.HOST_REFUSE, prepare.host),
    "POST /settings/password": Sample(Action.PASSWORD_SET, prepare.nothing, _NEW_PASSWORD),
    "POST /settings/sessions/{session_id}/revoke": Sample(
        Action.SESSION_REVOKE, prepare.other_session
    ),
    "POST /settings/sessions/revoke-others": Sample(Action.SESSION_REVOKE, prepare.other_session),
    "POST /settings/invites": Sample(Action.INVITE_CREATE, prepare.nothing),
    "POST /settings/invites/{invite_id}/revoke": Sample(Action.INVITE_REVOKE, prepare.invite),
    "POST /projects/{slug}/invites": Sample(
        Action.INVITE_CREATE, prepare.nothing, {"role": "viewer"}
    ),
    "POST /projects/{slug}/invites/{invite_id}/revoke": Sample(
        Action.INVITE_REVOKE, prepare.project_invite
    ),
    "POST /settings/users/{user_id}/role": Sample(
        Action.USER_CHANGE, prepare.person, {"is_admin": "true"}
    ),
    "POST /settings/users/{user_id}/disable": Sample(Action.USER_DISABLE, prepare.person),
    "POST /settings/users/{user_id}/enable": Sample(Action.USER_ENABLE, prepare.disabled),
    "POST /settings/users/{user_id}/reset": Sample(Action.PASSWORD_RESET, prepare.person),
    "POST /sign-out": Sample(Action.SIGN_OUT, prepare.nothing),
    "POST /sign-in": Sample(
        Action.SIGN_IN,
        prepare.password,
        {"name": "{person}", "password": PASSWORD},
        wrong={"name": "{person}", "password": "a guess"},
        is_signed_in=False,
    ),
    "POST /sign-in/link": Sample(
        Action.SIGN_IN, prepare.sign_in_link, {"token": "{secret}"}, is_signed_in=False
    ),
    "POST /join": Sample(
        Action.USER_CREATE,
        prepare.invite,
        {"token": "{secret}", "name": "grace"} | _NEW_PASSWORD,
        is_signed_in=False,
    ),
    "POST /reset": Sample(
        Action.PASSWORD_SET,
        prepare.reset_link,
        {"token": "{secret}"} | _NEW_PASSWORD,
        is_signed_in=False,
    ),
}

UNCHANGING = {
    "POST /runs/new/changes": "shows a config that is not stored; a launch goes to /runs/new",
    "POST /runs/new/check": "looks at a config that is not stored",
    "POST /runs/new/import": "reads a script, of which nothing is stored",
    "POST /runs/new/package": "shows a config that is not stored; a launch goes to /runs/new",
    "POST /runs/new/package/{name}": "makes a file of a config that is not stored",
    "POST /runs/new/yaml": "shows a config that is not stored; a launch goes to /runs/new",
    "POST /api/v1/sweeps/preview": "looks at configs that are not stored",
    "POST /api/v1/configs/validate": "looks at a config that is not stored",
    "POST /api/v1/configs/diff": "looks at configs that are not stored",
    "POST /api/v1/configs/import": "looks at a text that is not stored",
    "POST /api/v1/configs/render": "looks at a config that is not stored",
    "POST /api/v1/outgoing-hosts/check": "says whether an address would be called",
    "POST /api/v1/endpoints/{endpoint_id}/check": "has the worker look at it sooner",
    "POST /endpoints/{slug}/check": "has the worker look at it sooner",
    "POST /settings/outgoing/try": "says whether an address would be called",
    "POST /preferences/{name}": "sets a cookie of one's own browser",
    "POST /runs/views": "keeps one's own look at the table, which shows nothing new",
    "POST /runs/views/{view_id}/delete": "forgets one's own look at the table",
    "POST /api/2.0/mlflow/experiments/search": "reads",
    "POST /api/2.0/mlflow/experiments/set-experiment-tag": "is taken, and nothing is stored",
    "POST /api/2.0/mlflow/runs/search": "reads",
}
