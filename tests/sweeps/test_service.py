"""Sweeps on both databases: made whole or not at all, stopped and resumed as one."""

import pytest
from sqlalchemy import func, select

from app.clusters import service as clusters
from app.db import Database
from app.errors import Conflict, Invalid
from app.experiments import service as experiments
from app.models import AuditEntry, Config, DesiredStatus, Event, Run, RunStatus, Sweep
from app.runs import queue
from app.runs.states import transition
from app.sweeps import service
from app.sweeps.expansion import Explicit, Grid
from app.sweeps.service import Request
from tests.factories import ADA, make_experiment, make_run
from tests.queries import QueryCounter
from tests.sweeps.factories import SEED, STEPS, make_sweep


async def count(database: Database, table: type[Run] | type[Config] | type[Sweep]) -> int:
    async with database.read() as session:
        return await session.scalar(select(func.count()).select_from(table)) or 0


async def actions(database: Database) -> list[str]:
    async with database.read() as session:
        return list(await session.scalars(select(AuditEntry.action).order_by(AuditEntry.id)))


async def test_a_sweep_queues_a_run_for_each_config(database: Database) -> None:
    async with database.write() as session:
        experiment = await make_experiment(session, config={STEPS: 20})
        request = Request(
            space=Grid({SEED: (1, 2), STEPS: (20, 30)}), exclude=[2], name="Seeds", tags=["s"]
        )
        subject = await service.subject(session, experiment)
        plan = await service.plan(subject, request)
        made = await service.create(session, subject, request, plan, actor=ADA)
    async with database.read() as session:
        sweep = await service.get(session, made.slug)
        found = await service.list_runs(session, sweep)
    assert (sweep.name, sweep.keys, sweep.config.version) == ("Seeds", [SEED, STEPS], 1)
    assert [(run.sweep_number, run.name) for run in found] == [
        (1, "seed=1, max_training_steps=20"),
        (2, "seed=2, max_training_steps=20"),
        (3, "seed=2, max_training_steps=30"),
    ]
    for run in found:
        assert (run.status, run.tags, run.owner) == (RunStatus.QUEUED, ["s"], "ada")
        assert (run.config.version, run.config.base_version) == (None, 1)
        assert run.due_at is not None
    assert [run.config.values[STEPS] for run in found] == [20, 20, 30]
    assert (await actions(database))[-4:] == [*["run.create"] * 3, "sweep.create"]


async def test_one_wrong_config_makes_nothing_unless_it_is_excluded(database: Database) -> None:
    space = Explicit(({SEED: 1}, {SEED: -5}, {"trainer.sed": 1}, {SEED: 1}))
    async with database.write() as session:
        experiment = await make_experiment(session)
        subject = await service.subject(session, experiment)
    plan = await service.plan(subject, Request(space=space))
    assert [bool(run.errors) for run in plan.runs] == [False, True, True, True]
    with pytest.raises(Invalid) as caught:
        service.require_ok(plan)
    assert [each.field for each in caught.value.problems] == [
        f"runs.2.{SEED}",
        "runs.3.trainer.sed",
        f"runs.4.{SEED}",
    ]
    assert "same config as run 1" in caught.value.problems[2].message

    async def make(request: Request) -> None:
        async with database.write() as session:
            home = await service.subject(session, await experiments.get(session, experiment.slug))
            plan = await service.plan(home, request)
            await service.create(session, home, request, plan, actor=ADA)

    with pytest.raises(Invalid):
        await make(Request(space=space, exclude=[2, 3]))
    assert (await count(database, Sweep), await count(database, Run)) == (0, 0)
    assert await count(database, Config) == 1
    await make(Request(space=space, exclude=[2, 3, 4]))
    assert (await count(database, Sweep), await count(database, Run)) == (1, 1)


@pytest.mark.parametrize(
    ("request_", "rule"),
    [
        (Request(space=Grid({SEED: tuple(range(201))})), "too_large"),
        (Request(space=Grid({SEED: (1, 2)}), exclude=[1, 2]), "none_left"),
        (Request(space=Grid({SEED: ()})), "required"),
        (Request(space=Grid({SEED: (1,)}), max_running_runs=0), "range"),
        (Request(space=Grid({SEED: (1,)}), name="two\nlines"), "name"),
        (Request(space=Grid({"job.secrets": ("NO_SUCH",)})), "shows_secrets"),
    ],
)
async def test_what_is_refused_leaves_nothing(
    sqlite_database: Database, request_: Request, rule: str
) -> None:
    async with sqlite_database.write() as session:
        experiment = await make_experiment(session)

    async def make() -> None:
        async with sqlite_database.write() as session:
            home = await experiments.get(session, experiment.slug)
            subject = await service.subject(session, home)
            plan = await service.plan(subject, request_)
            await service.create(session, subject, request_, plan, actor=ADA)

    with pytest.raises(Invalid) as caught:
        await make()
    assert [each.rule for each in caught.value.problems] == [rule]
    assert (await count(sqlite_database, Sweep), await count(sqlite_database, Run)) == (0, 0)


async def test_an_archived_experiment_takes_no_sweep(sqlite_database: Database) -> None:
    async with sqlite_database.write() as session:
        experiment = await make_experiment(session)
        await experiments.archive(session, experiment, actor=ADA)
        with pytest.raises(Conflict, match="archived"):
            await make_sweep(session, experiment=experiment)


async def test_stopping_and_resuming_is_for_all_runs_at_once(
    database: Database, count_queries: QueryCounter
) -> None:
    async with database.write() as session:
        sweep = await make_sweep(session, runs=3)
        done = (await service.list_runs(session, sweep))[0]
        for status in ("submitting", "running", "succeeded"):
            session.add(
                transition(done, RunStatus(status), at=done.created_at, actor="w", reason="x")
            )
    async with database.write() as session:
        assert await service.stop(session, sweep, actor=ADA) == 2
        assert await service.stop(session, sweep, actor=ADA) == 0
    async with database.write() as session:
        found = await service.list_runs(session, sweep)
        assert [run.desired_status for run in found] == ["run", "stop", "stop"]
        for run in found[1:]:
            session.add(
                transition(run, RunStatus.STOPPED, at=run.created_at, actor="w", reason="x")
            )
        await session.flush()
        assert await service.resume(session, sweep, actor=ADA) == 2
        assert await service.resume(session, sweep, actor=ADA) == 0
    async with database.read() as session:
        found = await service.list_runs(session, sweep)
        assert [run.status for run in found] == ["succeeded", "queued", "queued"]
        assert all(run.desired_status is DesiredStatus.RUN for run in found)
        query = select(Event.reason).where(Event.run_id == found[1].id).order_by(Event.id)
        assert list(await session.scalars(query))[1:] == [
            "stop_requested",
            "x",
            "resume_requested",
            "resume_requested",
        ]
        counts = await service.count_statuses(session, [sweep])
    assert counts[sweep.id] == {RunStatus.SUCCEEDED: 1, RunStatus.QUEUED: 2}
    assert [each for each in await actions(database) if "stop" in each or "resume" in each] == [
        *["run.stop"] * 2,
        "sweep.stop",
        *["run.resume"] * 2,
        "sweep.resume",
    ]


async def test_the_cost_does_not_grow_with_the_runs(
    database: Database, count_queries: QueryCounter
) -> None:
    costs: list[list[int]] = []
    for number in (2, 9):
        async with database.write() as session:
            await clusters.ensure_embedded(session)
            experiment = await make_experiment(session)
        spent = []
        async with database.write() as session:
            with count_queries(database) as counted:
                sweep = await make_sweep(session, experiment=experiment, runs=number)
            spent.append(counted.count)
        for wish in (service.stop, service.resume):
            async with database.write() as session:
                with count_queries(database) as counted:
                    await wish(session, sweep, actor=ADA)
                spent.append(counted.count)
        async with database.read() as session:
            with count_queries(database) as counted:
                await service.list_runs(session, sweep)
                await queue.loads(session)
            spent.append(counted.count)
        costs.append(spent)
    assert costs[0] == costs[1]


async def test_runs_beyond_the_sweeps_limit_keep_no_place_in_the_queue(database: Database) -> None:
    async with database.write() as session:
        await clusters.ensure_embedded(session)
        sweep = await make_sweep(session, runs=3, max_running_runs=1)
        first, second, third = await service.list_runs(session, sweep)
        other = await make_run(session)
    async with database.read() as session:
        (load,) = (await queue.loads(session)).values()
        assert list(load.queued) == [first.id, other.id]
        assert load.held == {second.id: 1, third.id: 1}
        assert (load.waiting_count, load.position(other.id), load.position(third.id)) == (
            4,
            2,
            None,
        )
        assert await queue.queue_position(session, first) == 1
        assert await queue.queue_position(session, third) is None
        assert await queue.queue_position(session, other) == 2
        assert await queue.sweep_limit(session, first) is None
        assert await queue.sweep_limit(session, other) is None
        assert await queue.sweep_limit(session, second) == 1
