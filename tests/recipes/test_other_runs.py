"""Two runs that write to one folder spoil each other's files: who plans the second is told."""

from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from app.clusters import service as clusters
from app.db import Database
from app.errors import Invalid
from app.experiments import service as experiments
from app.ids import new_id
from app.models import Cluster, Project, Run, RunStatus
from app.projects import service as projects
from app.recipes import service as recipes
from app.runs import rows
from app.runs.path_users import caution, list_path_users
from tests.factories import ADA
from tests.queries import QueryCounter

SFT = recipes.get("visgym-sft-grpo")
CKPT, SYNC = "trainer.ckpt_path", "trainer.policy.model.lora.lora_sync_path"
CONFIG = {CKPT: "/shared/ckpts/mine", SYNC: "/shared/lora"}
RULES = {CKPT: "trap.ckpt_shared", SYNC: "trap.lora_sync_shared"}


async def add_run(
    session: AsyncSession,
    name: str,
    config: dict[str, Any],
    *,
    status: RunStatus = RunStatus.QUEUED,
    project: Project | None = None,
) -> Run:
    home = project or await projects.ensure_default(session)
    experiment = await experiments.create(
        session, project=home, name=name, recipe=SFT.name, config=config, actor=ADA
    )
    made = await experiments.newest_config(session, experiment)
    assert made is not None
    run = rows.new_run(experiment, made, actor=ADA, name=name, tags=())
    run.status, run.cluster_id = status, (await clusters.ensure_embedded(session)).id
    session.add(run)
    await session.flush()
    await session.flush()
    await rows.add_values(session, [(run, made)])
    await session.flush()
    return run


async def warned(session: AsyncSession, config: dict[str, Any]) -> dict[str, str]:
    cluster = await clusters.ensure_embedded(session)
    others = await list_path_users(session, SFT, config, cluster, projects=None)
    found = recipes.examine(SFT, config, recipes.Place(other_runs=others)).findings
    return {each.rule: each.message for each in found.warnings if each.rule in RULES.values()}


@pytest.mark.parametrize("key", RULES)
async def test_a_path_of_an_unfinished_run_is_warned_of(database: Database, key: str) -> None:
    async with database.write() as session:
        await add_run(session, "theirs", {key: f"{CONFIG[key]}/"})
        said = await warned(session, CONFIG)
    assert list(said) == [RULES[key]]
    assert CONFIG[key] in said[RULES[key]]
    assert "theirs" in said[RULES[key]]


async def test_a_fix_makes_the_path_the_runs_own(database: Database) -> None:
    async with database.write() as session:
        await add_run(session, "theirs", CONFIG)
        cluster = await clusters.ensure_embedded(session)
        others = await list_path_users(session, SFT, CONFIG, cluster, projects=None)
        found = recipes.examine(SFT, CONFIG, recipes.Place(other_runs=others)).findings
        fixed: dict[str, Any] = {**CONFIG}
        for each in found.warnings:
            fixed |= each.fix_values or {}
        assert not await warned(session, fixed)
    assert all("{run_id}" in fixed[key] for key in RULES)


@pytest.mark.parametrize("status", [RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.LOST])
async def test_runs_that_ended_are_no_danger(database: Database, status: RunStatus) -> None:
    async with database.write() as session:
        await add_run(session, "theirs", CONFIG, status=status)
        assert not await warned(session, CONFIG)


async def test_paths_with_the_runs_id_cost_no_query(
    database: Database, count_queries: QueryCounter
) -> None:
    async with database.write() as session:
        await add_run(session, "theirs", {})
        cluster = await clusters.ensure_embedded(session)
        with count_queries(database) as counted:
            assert await list_path_users(session, SFT, {}, cluster, projects=None) == []
    assert counted.count == 0


async def test_many_runs_are_found_in_one_query_and_few_are_named(
    database: Database, count_queries: QueryCounter
) -> None:
    async with database.write() as session:
        for number in range(25):
            await add_run(session, f"run {number}", CONFIG)
        cluster = await clusters.ensure_embedded(session)
        with count_queries(database) as counted:
            found = await list_path_users(session, SFT, CONFIG, cluster, projects=None)
        said = await warned(session, CONFIG)
    assert counted.count == 1
    assert len(found) == 20
    assert all(len(message) < 400 for message in said.values())


async def test_runs_of_other_projects_stay_unnamed(database: Database) -> None:
    async with database.write() as session:
        home = await projects.ensure_default(session)
        run = await add_run(session, "theirs", CONFIG)
        cluster = await clusters.ensure_embedded(session)
        readable = [frozenset({home.id}), frozenset({run.id}), frozenset()]
        counts = [
            len(await list_path_users(session, SFT, CONFIG, cluster, projects=each))
            for each in readable
        ]
    assert counts == [1, 0, 0]


async def test_a_launch_says_so_in_its_first_event(database: Database) -> None:
    async with database.write() as session:
        cluster = await clusters.ensure_embedded(session)
        first = await add_run(session, "first", {"trainer.seed": 1})
        second = await add_run(session, "second", CONFIG, status=RunStatus.RUNNING)
        await session.refresh(second, ["config"])
        await session.refresh(first, ["config"])
        assert await caution(session, first, first.config, cluster) == ""
        said = await caution(session, first, second.config, cluster)
    assert "second" in said
    assert CONFIG[CKPT] in said
    assert CONFIG[SYNC] in said


async def test_a_launch_that_asks_for_more_gpus_than_there_are_is_refused(
    database: Database,
) -> None:
    async with database.write() as session:
        first = await add_run(session, "first", {"trainer.seed": 1})
        await session.refresh(first, ["config"])
        nodes = [{"gpu_count": 2}]
        small, large = (
            Cluster(id=new_id(), kind="other", name="team", details={"nodes": nodes * count})
            for count in (1, 32)
        )
        with pytest.raises(Invalid, match="team") as caught:
            await caution(session, first, first.config, small)
        assert {each.rule for each in caught.value.problems} <= {"E9.cluster_gpus", "E9.node_gpus"}
        assert await caution(session, first, first.config, large) == ""
