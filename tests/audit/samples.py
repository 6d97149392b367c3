"""For each route that changes something: a request that it accepts, and the action it leaves.

A new route needs a row in `SAMPLES`, or a reason in `UNCHANGING`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.access.permissions import Scope
from app.audit.actions import Action
from app.clock import utcnow
from app.clusters import registry
from app.clusters.registration import Wish
from app.db import WriteSession
from app.episodes import service as episodes
from app.evaluations import service as evaluations
from app.experiments import service as experiments
from app.models import Experiment, Role, Run, RunStatus
from app.outgoing import service as outgoing
from app.projects import service as projects
from app.runs import service as runs
from app.runs.states import transition
from app.secrets import service as secrets
from app.sharing import service as sharing
from app.sweeps import service as sweeps
from app.users import service as users
from app.users.passwords import hash_password
from tests.audit.world import PASSWORD, World
from tests.evaluations.factories import add_endpoint, add_evaluation
from tests.factories import (
    RECIPE,
    SMALL_ZIP,
    make_checkpoint,
    make_experiment,
    make_external_run,
    make_promotion,
    make_run,
)
from tests.playground.factories import FAILURE, add_episode, add_own
from tests.sweeps.factories import make_sweep

Names = dict[str, str]
Prepare = Callable[[World, WriteSession], Awaitable[Names]]


@dataclass(frozen=True, slots=True)
class Sample:
    """`prepare` makes what the request needs; its names fill the address and texts of the body.

    `wrong` is a body that is refused where anybody may ask: the row is then of `action`, too.
    `is_signed_in`: whether the administrator asks, or somebody unknown.
    """

    action: Action
    prepare: Prepare
    body: Mapping[str, Any] = field(default_factory=dict)
    wrong: Mapping[str, Any] | None = None
    is_signed_in: bool = True


async def nothing(world: World, _session: WriteSession) -> Names:
    names = {"project": world.project, "name": "dark"}
    return names | dict.fromkeys(("project_id", "slug"), world.project)


async def experiment(world: World, session: WriteSession) -> Names:
    return {"experiment_id": (await _experiment(world, session)).slug}


async def shelf(world: World, session: WriteSession) -> Names:
    return {"slug": (await _experiment(world, session)).slug}


async def archived(world: World, session: WriteSession) -> Names:
    made = await _experiment(world, session)
    await experiments.archive(session, made, actor=world.actor)
    return {"experiment_id": made.slug, "slug": made.slug}


async def sweep(world: World, session: WriteSession) -> Names:
    made = await make_sweep(session, experiment=await _experiment(world, session))
    return {"sweep_id": made.slug, "slug": made.slug}


async def stopped_sweep(world: World, session: WriteSession) -> Names:
    names = await sweep(world, session)
    for run in await sweeps.list_runs(session, await sweeps.get(session, names["slug"])):
        session.add(transition(run, RunStatus.STOPPED, at=utcnow(), actor="worker", reason="x"))
    return names


async def evaluation(world: World, session: WriteSession) -> Names:
    made = await add_evaluation(session, await world.home(session), "a")
    return {"evaluation_id": made.slug, "slug": made.slug}


async def stopped_evaluation(world: World, session: WriteSession) -> Names:
    names = await evaluation(world, session)
    made = await evaluations.get(session, names["slug"])
    await evaluations.stop(session, made, actor=world.actor)
    return names


async def served(world: World, session: WriteSession) -> Names:
    """An endpoint with a model."""
    await add_endpoint(session, "a", slug=_ENDPOINT)
    return await nothing(world, session)


async def queued(world: World, session: WriteSession) -> Names:
    return _of_run(await make_run(session, experiment=await _experiment(world, session)))


async def exported(world: World, session: WriteSession) -> Names:
    """A checkpoint that can be promoted."""
    run = await make_run(session, experiment=await _experiment(world, session))
    made = (await make_checkpoint(session, run)).slug
    return {"checkpoint_id": made, "slug": made}


async def promoted(world: World, session: WriteSession) -> Names:
    run = await make_run(session, experiment=await _experiment(world, session))
    adapter = (await make_promotion(session, run)).adapter
    return {"adapter_id": adapter.slug, "slug": adapter.slug}


async def external(world: World, session: WriteSession) -> Names:
    return _of_run(await make_external_run(session, project=await world.home(session)))


async def stopped(world: World, session: WriteSession) -> Names:
    run = await make_run(session, experiment=await _experiment(world, session))
    session.add(transition(run, RunStatus.STOPPED, at=utcnow(), actor="worker", reason="x"))
    return _of_run(run)


async def deleted(world: World, session: WriteSession) -> Names:
    names = await stopped(world, session)
    await runs.delete(session, await runs.get(session, names["slug"]), actor=world.actor)
    return names


async def shared(world: World, session: WriteSession) -> Names:
    run = await make_external_run(session, project=await world.home(session))
    link, _ = await sharing.create(session, run, actor=world.actor)
    return _of_run(run) | {"share": link.slug, "share_id": link.slug}


async def own_episode(world: World, session: WriteSession) -> Names:
    """One in which a person plays."""
    home = await world.home(session)
    slug = (await add_own(session, home.id)).slug
    return {"slug": slug, "episode_id": slug}


async def failed_episode(world: World, session: WriteSession) -> Names:
    """One whose model gave no answer."""
    home = await world.home(session)
    return {"episode_id": (await add_episode(session, home.id, error=FAILURE)).slug}


async def shared_episode(world: World, session: WriteSession) -> Names:
    names = await own_episode(world, session)
    episode = await episodes.get(session, names["slug"])
    link, _ = await sharing.create(session, episode, actor=world.actor)
    return names | {"share": link.slug, "share_id": link.slug}


async def member(world: World, session: WriteSession) -> Names:
    """Somebody who is in the project."""
    names = await person(world, session)
    home = await world.home(session)
    await projects.add_member(session, home, names["person"], Role.VIEWER, actor=world.actor)
    return names | {"name": names["person"]}


async def person(world: World, session: WriteSession) -> Names:
    """Somebody with an account and no rights yet."""
    user = await users.create_user(session, "grace")
    return await nothing(world, session) | {"user_id": str(user.id), "person": user.name}


async def somebody_new(world: World, session: WriteSession) -> Names:
    """As `person`, for addresses that end in the person's name."""
    names = await person(world, session)
    return names | {"name": names["person"]}


async def disabled(world: World, session: WriteSession) -> Names:
    names = await person(world, session)
    user = await users.get_user_named(session, names["person"])
    await users.disable_user(session, user, actor=world.actor)
    return names


async def secret_name(world: World, session: WriteSession) -> Names:
    return await nothing(world, session) | {"name": "HF_TOKEN"}


async def project_secret(world: World, session: WriteSession) -> Names:
    names, home = await secret_name(world, session), await world.home(session)
    await secrets.put(session, home.id, names["name"], "hf_4f2b9a1c7d", actor=world.actor)
    return names


async def site_secret(world: World, session: WriteSession) -> Names:
    names = await secret_name(world, session)
    await secrets.put(session, None, names["name"], "hf_4f2b9a1c7d", actor=world.actor)
    return names


async def token(world: World, session: WriteSession) -> Names:
    user = await users.get_user(session, world.admin.user_id)
    made, _ = await users.create_token(session, name="old", scope=Scope.READ, user=user)
    return {"token_id": made.slug}


async def other_session(world: World, session: WriteSession) -> Names:
    user = await users.get_user(session, world.admin.user_id)
    await users.create_session(session, user)
    rows = await users.list_sessions(session, user)
    return {"session_id": rows[-1].slug}


async def invite(world: World, session: WriteSession) -> Names:
    made, secret = await users.create_invite(session, await world.principal(session))
    return {"invite_id": made.slug, "secret": secret}


async def project_invite(world: World, session: WriteSession) -> Names:
    by = await world.principal(session)
    made, _ = await users.create_invite(session, by, project=world.project, role=Role.VIEWER)
    return {"slug": world.project, "invite_id": made.slug}


async def reset_link(_world: World, session: WriteSession) -> Names:
    user = await users.create_user(session, "grace")
    return {"secret": await users.create_reset_link(session, user)}


async def sign_in_link(_world: World, session: WriteSession) -> Names:
    await users.create_user(session, "grace")
    return {"secret": await users.create_link_for(session, "grace")}


async def password(_world: World, session: WriteSession) -> Names:
    await users.create_user(session, "grace", password_hash=await hash_password(PASSWORD))
    return {"person": "grace"}


async def host(world: World, session: WriteSession) -> Names:
    row = await outgoing.allow(session, world.actor, host="ray.internal", reason="ours")
    return {"host_id": row.slug, "slug": row.slug}


async def endpoint(_world: World, session: WriteSession) -> Names:
    made = await add_endpoint(session, "a", slug="end-2345bcdf")
    return {"endpoint_id": made.slug, "slug": made.slug}


async def cluster(_world: World, _session: WriteSession) -> Names:
    return {"cluster_id": "embedded", "slug": "embedded"}


async def registered(world: World, session: WriteSession) -> Names:
    made = await registry.create(session, Wish(**_CLUSTER), actor=world.actor)
    return {"cluster_id": made.slug, "slug": made.slug}


_CLUSTER = {
    "name": "Team Ray",
    "address": "https://ray.example.com",
    "credential": "token",
    "secret": "ray_9d8c7b6a5f",
}
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
_ENDPOINT = "end-audited1"
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
        Action.CLUSTER_CHANGE, cluster, {"runs_member_code": True}
    ),
    "POST /api/v1/clusters": Sample(Action.CLUSTER_CREATE, nothing, _CLUSTER),
    "POST /clusters/new": Sample(Action.CLUSTER_CREATE, nothing, _CLUSTER_FORM),
    "POST /clusters/{slug}/edit": Sample(Action.CLUSTER_CHANGE, registered, _CLUSTER_FORM),
    "DELETE /api/v1/clusters/{cluster_id}": Sample(Action.CLUSTER_DELETE, registered),
    "POST /clusters/{slug}/delete": Sample(
        Action.CLUSTER_DELETE, registered, {"confirm": "Team Ray"}
    ),
    "POST /api/v1/clusters/{cluster_id}/check": Sample(Action.CLUSTER_CHECK, registered),
    "POST /clusters/{slug}/check": Sample(Action.CLUSTER_CHECK, registered),
    "POST /clusters/{slug}/consents": Sample(
        Action.CLUSTER_CHANGE, cluster, {"runs_member_code": "true", "confirm": "Embedded"}
    ),
    "POST /api/v1/experiments": Sample(
        Action.EXPERIMENT_CREATE, nothing, {"name": "rank", "recipe": RECIPE}
    ),
    "POST /api/v1/experiments/{experiment_id}/runs": Sample(Action.RUN_CREATE, experiment),
    "POST /experiments/{slug}/runs": Sample(Action.RUN_CREATE, shelf),
    "POST /api/v1/experiments/{experiment_id}/versions": Sample(
        Action.EXPERIMENT_VERSION, experiment, {"config": {"trainer.seed": 7}}
    ),
    "PATCH /api/v1/experiments/{experiment_id}": Sample(
        Action.EXPERIMENT_CHANGE, experiment, {"name": "Another question"}
    ),
    "POST /experiments/{slug}/edit": Sample(
        Action.EXPERIMENT_CHANGE, shelf, {"name": "Another question"}
    ),
    "POST /api/v1/experiments/{experiment_id}/fork": Sample(Action.EXPERIMENT_FORK, experiment),
    "POST /experiments/{slug}/fork": Sample(Action.EXPERIMENT_FORK, shelf),
    "POST /api/v1/experiments/{experiment_id}/archive": Sample(
        Action.EXPERIMENT_ARCHIVE, experiment
    ),
    "POST /experiments/{slug}/archive": Sample(Action.EXPERIMENT_ARCHIVE, shelf),
    "POST /api/v1/experiments/{experiment_id}/restore": Sample(Action.EXPERIMENT_RESTORE, archived),
    "POST /experiments/{slug}/restore": Sample(Action.EXPERIMENT_RESTORE, archived),
    "POST /api/v1/eval-sets": Sample(Action.EVAL_SET_CREATE, nothing, _EVAL_SET),
    "POST /eval-sets": Sample(Action.EVAL_SET_CREATE, nothing, _EVAL_SET | {"seeds": "0-3"}),
    "POST /api/v1/evaluations": Sample(
        Action.EVALUATION_CREATE,
        served,
        {
            "models": [{"endpoint": _ENDPOINT, "model": "a"}],
            "eval_set": "easy-0-63-t15",
            "project": "{project}",
        },
    ),
    "POST /evaluations/new": Sample(
        Action.EVALUATION_CREATE,
        served,
        {"models": f"{_ENDPOINT} a", "project": "{project}"},
    ),
    "POST /api/v1/evaluations/{evaluation_id}/stop": Sample(Action.EVALUATION_STOP, evaluation),
    "POST /evaluations/{slug}/stop": Sample(Action.EVALUATION_STOP, evaluation),
    "POST /api/v1/evaluations/{evaluation_id}/resume": Sample(
        Action.EVALUATION_RESUME, stopped_evaluation
    ),
    "POST /evaluations/{slug}/resume": Sample(Action.EVALUATION_RESUME, stopped_evaluation),
    "POST /api/v1/sweeps": Sample(
        Action.SWEEP_CREATE,
        experiment,
        {
            "experiment": "{experiment_id}",
            "space": {"kind": "grid", "keys": {"trainer.seed": [1, 2]}},
        },
    ),
    "POST /experiments/{slug}/sweeps/new": Sample(
        Action.SWEEP_CREATE,
        shelf,
        {"kind": "grid", "key-0": "trainer.seed", "values-0": "1, 2", "do": "launch"},
    ),
    "POST /api/v1/sweeps/{sweep_id}/stop": Sample(Action.SWEEP_STOP, sweep),
    "POST /sweeps/{slug}/stop": Sample(Action.SWEEP_STOP, sweep),
    "POST /api/v1/sweeps/{sweep_id}/resume": Sample(Action.SWEEP_RESUME, stopped_sweep),
    "POST /sweeps/{slug}/resume": Sample(Action.SWEEP_RESUME, stopped_sweep),
    "POST /api/v1/checkpoints/{checkpoint_id}/promote": Sample(Action.ADAPTER_PROMOTE, exported),
    "POST /checkpoints/{slug}/promote": Sample(
        Action.ADAPTER_PROMOTE, exported, {"adapter_name": "mine"}
    ),
    "DELETE /api/v1/adapters/{adapter_id}": Sample(Action.ADAPTER_DELETE, promoted),
    "POST /adapters/{slug}/delete": Sample(Action.ADAPTER_DELETE, promoted),
    "POST /api/v1/runs/external": Sample(Action.RUN_CREATE, nothing, {"name": "outside"}),
    "POST /runs/new": Sample(
        Action.RUN_CREATE, nothing, {"recipe": RECIPE, "experiment": "rank", "project": "{project}"}
    ),
    "POST /api/v1/runs/{run_id}/stop": Sample(Action.RUN_STOP, queued),
    "POST /runs/{slug}/stop": Sample(Action.RUN_STOP, queued),
    "POST /api/v1/runs/{run_id}/resume": Sample(Action.RUN_RESUME, stopped),
    "POST /runs/{slug}/resume": Sample(Action.RUN_RESUME, stopped),
    "POST /api/v1/runs/{run_id}/delete": Sample(Action.RUN_DELETE, stopped),
    "POST /runs/{slug}/delete": Sample(Action.RUN_DELETE, stopped),
    "POST /api/v1/runs/{run_id}/restore": Sample(Action.RUN_RESTORE, deleted),
    "POST /runs/{slug}/restore": Sample(Action.RUN_RESTORE, deleted),
    "POST /api/v1/runs/{run_id}/finish": Sample(
        Action.RUN_FINISH, external, {"status": "succeeded"}
    ),
    "POST /api/v1/runs/{run_id}/metrics": Sample(Action.RUN_PUSH, external, _POINTS),
    f"{_MLFLOW}/experiments/create": Sample(Action.EXPERIMENT_CREATE, nothing, {"name": "mazes"}),
    f"{_MLFLOW}/runs/create": Sample(
        Action.RUN_CREATE, experiment, {"experiment_id": "{experiment_id}", "run_name": "x"}
    ),
    f"{_MLFLOW}/runs/update": Sample(Action.RUN_FINISH, external, _NAMED | {"status": "FAILED"}),
    f"{_MLFLOW}/runs/delete": Sample(Action.RUN_DELETE, stopped, _NAMED),
    f"{_MLFLOW}/runs/restore": Sample(Action.RUN_RESTORE, deleted, _NAMED),
    f"{_MLFLOW}/runs/log-metric": Sample(
        Action.RUN_PUSH, external, _NAMED | {"key": "loss", "value": 0.5, "step": 1}
    ),
    f"{_MLFLOW}/runs/log-batch": Sample(
        Action.RUN_PUSH, external, _NAMED | {"metrics": [{"key": "loss", "value": 0.5}]}
    ),
    f"{_MLFLOW}/runs/log-parameter": Sample(Action.RUN_PUSH, external, _ENTRY),
    f"{_MLFLOW}/runs/set-tag": Sample(Action.RUN_PUSH, external, _ENTRY),
    f"{_MLFLOW}/runs/delete-tag": Sample(Action.RUN_PUSH, external, _ENTRY),
    "POST /api/v1/runs/{run_id}/shares": Sample(Action.SHARE_CREATE, external),
    "POST /runs/{slug}/share": Sample(Action.SHARE_CREATE, external),
    "DELETE /api/v1/runs/{run_id}/shares/{share_id}": Sample(Action.SHARE_REVOKE, shared),
    "POST /runs/{slug}/shares/{share}/revoke": Sample(Action.SHARE_REVOKE, shared),
    "POST /playground": Sample(
        Action.EPISODE_CREATE, nothing, {"lane-1": "you", "seed": "3", "project": "{project}"}
    ),
    "POST /playground/{slug}/turns": Sample(
        Action.EPISODE_PLAY, own_episode, {"do": "move", "move": "right"}
    ),
    "POST /playground/{slug}/fork": Sample(Action.EPISODE_FORK, own_episode, {"turn": "0"}),
    "POST /api/v1/episodes": Sample(
        Action.EPISODE_CREATE, nothing, {"lanes": [{}], "project": "{project}"}
    ),
    "POST /api/v1/episodes/{episode_id}/turns": Sample(
        Action.EPISODE_PLAY, own_episode, {"action": "right"}
    ),
    "POST /api/v1/episodes/{episode_id}/retry": Sample(Action.EPISODE_PLAY, failed_episode),
    "POST /api/v1/episodes/{episode_id}/stop": Sample(Action.EPISODE_STOP, own_episode),
    "POST /api/v1/episodes/{episode_id}/fork": Sample(
        Action.EPISODE_FORK, own_episode, {"turn": 0}
    ),
    "DELETE /api/v1/episodes/{episode_id}": Sample(Action.EPISODE_DELETE, own_episode),
    "POST /api/v1/episodes/{episode_id}/shares": Sample(Action.SHARE_CREATE, own_episode),
    "DELETE /api/v1/episodes/{episode_id}/shares/{share_id}": Sample(
        Action.SHARE_REVOKE, shared_episode
    ),
    "POST /playground/{slug}/share": Sample(Action.SHARE_CREATE, own_episode),
    "POST /playground/{slug}/shares/{share}/revoke": Sample(Action.SHARE_REVOKE, shared_episode),
    "POST /api/v1/code": Sample(Action.CODE_UPLOAD, nothing, {"file": SMALL_ZIP}),
    "POST /projects/{slug}/code": Sample(Action.CODE_UPLOAD, nothing, {"code": SMALL_ZIP}),
    "POST /api/v1/projects": Sample(Action.PROJECT_CREATE, nothing, {"name": "Vision"}),
    "POST /projects/new": Sample(Action.PROJECT_CREATE, nothing, {"name": "Vision"}),
    "PATCH /api/v1/projects/{project_id}": Sample(
        Action.PROJECT_RENAME, nothing, {"name": "Vision"}
    ),
    "POST /projects/{slug}/rename": Sample(
        Action.PROJECT_RENAME, nothing, {"project_name": "Vision"}
    ),
    "PUT /api/v1/projects/{project_id}/members/{name:path}": Sample(
        Action.MEMBER_ADD, somebody_new, {"role": "viewer"}
    ),
    "POST /projects/{slug}/members": Sample(
        Action.MEMBER_ADD, person, {"name": "{person}", "role": "viewer"}
    ),
    "POST /projects/{slug}/members/change": Sample(
        Action.MEMBER_CHANGE, member, {"name": "{person}", "role": "member"}
    ),
    "DELETE /api/v1/projects/{project_id}/members/{name:path}": Sample(
        Action.MEMBER_REMOVE, member
    ),
    "POST /projects/{slug}/members/remove": Sample(
        Action.MEMBER_REMOVE, member, {"name": "{person}"}
    ),
    "PUT /api/v1/projects/{project_id}/secrets/{name}": Sample(
        Action.SECRET_CREATE, secret_name, _VALUE
    ),
    "POST /projects/{slug}/secrets": Sample(
        Action.SECRET_CREATE, secret_name, {"name": "{name}"} | _VALUE
    ),
    "POST /projects/{slug}/secrets/{name}": Sample(Action.SECRET_CHANGE, project_secret, _VALUE),
    "DELETE /api/v1/projects/{project_id}/secrets/{name}": Sample(
        Action.SECRET_DELETE, project_secret
    ),
    "POST /projects/{slug}/secrets/{name}/delete": Sample(Action.SECRET_DELETE, project_secret),
    "PUT /api/v1/secrets/{name}": Sample(Action.SECRET_CHANGE, site_secret, _VALUE),
    "POST /settings/secrets": Sample(
        Action.SECRET_CREATE, secret_name, {"name": "{name}"} | _VALUE
    ),
    "POST /settings/secrets/{name}": Sample(Action.SECRET_CHANGE, site_secret, _VALUE),
    "DELETE /api/v1/secrets/{name}": Sample(Action.SECRET_DELETE, site_secret),
    "POST /settings/secrets/{name}/delete": Sample(Action.SECRET_DELETE, site_secret),
    "POST /api/v1/tokens": Sample(Action.TOKEN_CREATE, nothing, _TOKEN),
    "POST /settings/tokens": Sample(Action.TOKEN_CREATE, nothing, _TOKEN),
    "DELETE /api/v1/tokens/{token_id}": Sample(Action.TOKEN_REVOKE, token),
    "POST /settings/tokens/{token_id}/revoke": Sample(Action.TOKEN_REVOKE, token),
    "POST /api/v1/endpoints": Sample(Action.ENDPOINT_CREATE, nothing, _SERVER),
    "POST /endpoints": Sample(Action.ENDPOINT_CREATE, nothing, _SERVER),
    "PATCH /api/v1/endpoints/{endpoint_id}": Sample(Action.ENDPOINT_CHANGE, endpoint, _SERVER),
    "POST /endpoints/{slug}": Sample(Action.ENDPOINT_CHANGE, endpoint, _SERVER),
    "DELETE /api/v1/endpoints/{endpoint_id}": Sample(Action.ENDPOINT_REMOVE, endpoint),
    "POST /endpoints/{slug}/remove": Sample(Action.ENDPOINT_REMOVE, endpoint),
    "POST /api/v1/outgoing-hosts": Sample(Action.HOST_ALLOW, nothing, _HOST),
    "POST /settings/outgoing": Sample(Action.HOST_ALLOW, nothing, _HOST),
    "DELETE /api/v1/outgoing-hosts/{host_id}": Sample(Action.HOST_REFUSE, host),
    "POST /settings/outgoing/{slug}/remove": Sample(Action.HOST_REFUSE, host),
    "POST /settings/password": Sample(Action.PASSWORD_SET, nothing, _NEW_PASSWORD),
    "POST /settings/sessions/{session_id}/revoke": Sample(Action.SESSION_REVOKE, other_session),
    "POST /settings/sessions/revoke-others": Sample(Action.SESSION_REVOKE, other_session),
    "POST /settings/invites": Sample(Action.INVITE_CREATE, nothing),
    "POST /settings/invites/{invite_id}/revoke": Sample(Action.INVITE_REVOKE, invite),
    "POST /projects/{slug}/invites": Sample(Action.INVITE_CREATE, nothing, {"role": "viewer"}),
    "POST /projects/{slug}/invites/{invite_id}/revoke": Sample(
        Action.INVITE_REVOKE, project_invite
    ),
    "POST /settings/users/{user_id}/role": Sample(Action.USER_CHANGE, person, {"is_admin": "true"}),
    "POST /settings/users/{user_id}/disable": Sample(Action.USER_DISABLE, person),
    "POST /settings/users/{user_id}/enable": Sample(Action.USER_ENABLE, disabled),
    "POST /settings/users/{user_id}/reset": Sample(Action.PASSWORD_RESET, person),
    "POST /sign-out": Sample(Action.SIGN_OUT, nothing),
    "POST /sign-in": Sample(
        Action.SIGN_IN,
        password,
        {"name": "{person}", "password": PASSWORD},
        wrong={"name": "{person}", "password": "a guess"},
        is_signed_in=False,
    ),
    "POST /sign-in/link": Sample(
        Action.SIGN_IN, sign_in_link, {"token": "{secret}"}, is_signed_in=False
    ),
    "POST /join": Sample(
        Action.USER_CREATE,
        invite,
        {"token": "{secret}", "name": "grace"} | _NEW_PASSWORD,
        is_signed_in=False,
    ),
    "POST /reset": Sample(
        Action.PASSWORD_SET, reset_link, {"token": "{secret}"} | _NEW_PASSWORD, is_signed_in=False
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


def _of_run(run: Run) -> Names:
    return {"run_id": run.slug, "slug": run.slug}


async def _experiment(world: World, session: WriteSession) -> Experiment:
    return await make_experiment(session, project=await world.home(session))
