"""What a request that changes something needs before it is made."""

from collections.abc import Awaitable, Callable

from app.access.permissions import Scope
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


CLUSTER = {
    "name": "Team Ray",
    "address": "https://ray.example.com",
    "credential": "token",
    "secret": "ray_9d8c7b6a5f",
}
ENDPOINT = "end-audited1"


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
    await add_endpoint(session, "a", slug=ENDPOINT)
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
    made = await registry.create(session, Wish(**CLUSTER), actor=world.actor)
    return {"cluster_id": made.slug, "slug": made.slug}


def _of_run(run: Run) -> Names:
    return {"run_id": run.slug, "slug": run.slug}


async def _experiment(world: World, session: WriteSession) -> Experiment:
    return await make_experiment(session, project=await world.home(session))
