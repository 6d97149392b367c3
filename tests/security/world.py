"""Two projects with the same things in them, and everybody who may or may not look."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.access.permissions import Scope
from app.clock import utcnow
from app.clusters import service as clusters
from app.db import Database, WriteSession
from app.models import Project, Role, RunStatus, User
from app.projects import service as projects
from app.runs import service as runs
from app.users import service as users
from tests.evaluations.factories import add_evaluation
from tests.factories import (
    ADA,
    make_experiment,
    make_external_run,
    make_promotion,
    make_run,
    make_upload,
)
from tests.playground.factories import add_episode, said
from tests.sweeps.factories import make_sweep
from tests.web.seed import sign_in


@dataclass(frozen=True, slots=True)
class Things:
    """Slugs of what is in one project. `run` has ended, so that its streams end at once."""

    project: str
    experiment: str
    run: str
    code: str
    sweep: str
    evaluation: str
    checkpoint: str
    promotion: str
    adapter: str
    episode: str


@dataclass(slots=True)
class World:
    """`sessions` and `tokens` are secrets by caller; `bystander` is the id of a user."""

    ours: Things
    theirs: Things
    bystander: str
    sessions: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)


async def make_world(database: Database) -> World:
    await sign_in(database)
    async with database.write() as session:
        await clusters.ensure_embedded(session)
        ours = await projects.create(session, name="Ours", actor=ADA)
        theirs = await projects.create(session, name="Theirs", actor=ADA)
        people = await _people(session, ours)
        world = World(
            await _things(session, ours),
            await _things(session, theirs),
            str(people["bystander"].id),
        )
        for name, user in people.items():
            world.sessions[name] = await users.create_session(session, user)
            world.tokens[name] = await _token(session, Scope.ADMIN, user)
        await _tokens(session, world, people, ours)
        people["disabled user"].disabled_at = utcnow()
    return world


async def _people(session: WriteSession, ours: Project) -> Mapping[str, User]:
    people = {
        name: User(name=name, is_admin=name == "site administrator", created_at=utcnow())
        for name in (
            *("nobody", "viewer", "member", "administrator", "site administrator"),
            *("disabled user", "removed", "bystander"),
        )
    }
    session.add_all(people.values())
    await session.flush()
    roles = {
        "viewer": Role.VIEWER,
        "member": Role.MEMBER,
        "administrator": Role.ADMINISTRATOR,
        "disabled user": Role.ADMINISTRATOR,
        "removed": Role.MEMBER,
    }
    for name, role in roles.items():
        await projects.add_member(session, ours, name, role, actor=ADA)
    return people


async def _things(session: WriteSession, project: Project) -> Things:
    experiment = await make_experiment(session, project=project)
    queued = await make_run(session, experiment=experiment)
    run = await make_external_run(session, project=project)
    await runs.finish_external(session, run, RunStatus.SUCCEEDED, actor=ADA)
    code = await make_upload(session, project)
    sweep = await make_sweep(session, experiment=experiment, runs=1)
    evaluation = await add_evaluation(session, project, "a")
    promotion = await make_promotion(session, queued)
    return Things(
        project.slug,
        experiment.slug,
        run.slug,
        code.slug,
        sweep.slug,
        evaluation.slug,
        checkpoint=promotion.adapter.checkpoint.slug,
        promotion=promotion.slug,
        adapter=promotion.adapter.slug,
        episode=(await add_episode(session, project.id, said("right"))).slug,
    )


async def _tokens(
    session: WriteSession, world: World, people: Mapping[str, User], ours: Project
) -> None:
    administrator = people["administrator"]
    world.tokens |= {
        "read token": await _token(session, Scope.READ, administrator),
        "write token": await _token(session, Scope.WRITE, administrator),
        "admin token": await _token(session, Scope.ADMIN, administrator),
        "viewer's admin token": await _token(session, Scope.ADMIN, people["viewer"]),
        "bound admin token": await _token(
            session, Scope.ADMIN, people["site administrator"], project=ours
        ),
        "host's token": await _token(session, Scope.ADMIN, None),
        "removed member's token": await _token(session, Scope.WRITE, people["removed"]),
    }
    await projects.remove_member(session, ours, "removed", actor=ADA)
    token, secret = await users.create_token(session, name="gone", scope=Scope.ADMIN)
    token.revoked_at = utcnow()
    world.tokens["revoked token"] = secret


async def _token(
    session: WriteSession, scope: Scope, user: User | None, *, project: Project | None = None
) -> str:
    _, secret = await users.create_token(
        session,
        name=f"{user.name if user else 'host'} {scope}",
        scope=scope,
        user=user,
        project_id=project.id if project else None,
    )
    return secret
