import asyncio
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import update

from app.db import Database
from app.errors import Conflict, Invalid, NotFound
from app.metrics.service import MetricPoint, ingest
from app.models import DesiredStatus, Run, RunStatus
from app.paging import encode_cursor
from app.runs import queue, service
from app.runs.sorting import parse_sort
from tests.factories import ADA, make_experiment, make_external_run, make_run
from tests.queries import QueryCounter


async def test_a_new_run_is_queued_with_one_event(database: Database) -> None:
    async with database.write() as session:
        slug = (await make_run(session)).slug
    async with database.read() as session:
        run = await service.get(session, slug)
        events = (await service.list_events(session, run)).items
        assert run.status is RunStatus.QUEUED
        assert run.due_at is not None
        assert [(event.kind, event.to_status, event.actor) for event in events] == [
            ("status", "queued", "ada")
        ]
        assert await queue.queue_position(session, run) == 1


async def test_queued_runs_know_their_position(database: Database) -> None:
    async with database.write() as session:
        experiment = await make_experiment(session)
        runs = [await make_run(session, experiment=experiment) for _ in range(3)]
    async with database.read() as session:
        assert [await queue.queue_position(session, run) for run in runs] == [1, 2, 3]


async def test_overrides_make_a_config_of_that_run_only(database: Database) -> None:
    async with database.write() as session:
        experiment = await make_experiment(session)
        await make_run(session, experiment=experiment)
        changed = await service.create(
            session, experiment, actor=ADA, overrides={"trainer.seed": 7}
        )
        plain = await service.create(session, experiment, actor=ADA)
    assert (changed.config.version, changed.config.values["trainer.seed"]) == (None, 7)
    assert plain.config.version == 1
    assert plain.config.digest != changed.config.digest


async def test_stop_is_a_wish_and_asking_twice_is_one_event(database: Database) -> None:
    async with database.write() as session:
        run = await make_run(session)
        await service.request_stop(session, run, actor=ADA)
        await service.request_stop(session, run, actor=ADA)
        events = (await service.list_events(session, run)).items
    assert run.desired_status is DesiredStatus.STOP
    assert run.status is RunStatus.QUEUED
    assert [event.kind for event in events] == ["status", "desired_status"]


async def test_only_an_ended_unfinished_run_resumes(database: Database) -> None:
    async with database.write() as session:
        run = await make_run(session)
        with pytest.raises(Conflict, match="queued"):
            await service.request_resume(session, run, actor=ADA)
        await session.execute(
            update(Run).where(Run.id == run.id).values(status=RunStatus.FAILED, due_at=None)
        )
        await session.refresh(run)
        await service.request_resume(session, run, actor=ADA)
        assert run.status is RunStatus.QUEUED
        assert run.due_at is not None
        await session.execute(
            update(Run).where(Run.id == run.id).values(status=RunStatus.SUCCEEDED)
        )
        with pytest.raises(Conflict, match="only a failed, stopped or lost run resumes"):
            await service.request_resume(session, run, actor=ADA)


async def test_a_deleted_run_is_restored_before_it_resumes(database: Database) -> None:
    async with database.write() as session:
        run = await make_run(session)
        await session.execute(
            update(Run).where(Run.id == run.id).values(status=RunStatus.FAILED, due_at=None)
        )
        await service.delete(session, run, actor=ADA)
        with pytest.raises(Conflict, match="restore it"):
            await service.request_resume(session, run, actor=ADA)


async def test_of_two_resumes_at_once_one_wins(database: Database) -> None:
    async with database.write() as session:
        run = await make_run(session)
        await session.execute(
            update(Run).where(Run.id == run.id).values(status=RunStatus.FAILED, due_at=None)
        )

    both_saw_it = asyncio.Barrier(2)

    async def resume() -> bool:
        async with database.read() as early:
            seen = await service.get(early, run.slug)
            assert seen.status is RunStatus.FAILED
        await both_saw_it.wait()
        async with database.write() as session:
            held = await service.get(session, run.slug)
            try:
                await service.request_resume(session, held, actor=ADA)
            except Conflict:
                return False
            return True

    assert sorted(await asyncio.gather(resume(), resume())) == [False, True]


async def test_an_external_run_cannot_be_stopped_from_here(database: Database) -> None:
    async with database.write() as session:
        run = await make_external_run(session)
        with pytest.raises(Conflict, match=r"outside Skydeck.*/finish"):
            await service.request_stop(session, run, actor=ADA)


async def test_an_external_run_ends_once(database: Database) -> None:
    async with database.write() as session:
        run = await make_external_run(session)
        assert run.status is RunStatus.RUNNING
        await service.finish_external(session, run, RunStatus.SUCCEEDED, actor=ADA)
        with pytest.raises(Conflict):
            await service.finish_external(session, run, RunStatus.FAILED, actor=ADA)
    assert run.ended_at is not None


async def test_a_running_run_cannot_be_deleted_and_a_deleted_one_comes_back(
    database: Database,
) -> None:
    async with database.write() as session:
        run = await make_external_run(session)
        with pytest.raises(Conflict, match="stop it"):
            await service.delete(session, run, actor=ADA)
        await service.finish_external(session, run, RunStatus.FAILED, actor=ADA)
        await service.delete(session, run, actor=ADA)
        assert (await service.list_page(session, projects=None)).items == []
        await service.restore(session, run, actor=ADA)
        assert [row.slug for row in (await service.list_page(session, projects=None)).items] == [
            run.slug
        ]


@pytest.mark.parametrize(
    "sort", ["-created_at", "created_at", "name", "-metric:m:best", "metric:m:last", "config:x"]
)
async def test_pages_hold_each_run_once_whatever_the_order(database: Database, sort: str) -> None:
    async with database.write() as session:
        expected = set()
        for number in range(7):
            run = await make_external_run(session, name=f"run {number % 3}")
            expected.add(run.slug)
            if number % 2:
                await ingest(session, run.id, 1, [MetricPoint("m", 1, number / 7, 0.0)])
    seen, cursor = [], None
    async with database.read() as session:
        while True:
            page = await service.list_page(
                session, projects=None, limit=2, cursor=cursor, sort=sort
            )
            seen += [run.slug for run in page.items]
            if (cursor := page.next_cursor) is None:
                break
    assert len(seen) == len(expected)
    assert set(seen) == expected


async def test_the_best_by_a_metric_comes_first(database: Database) -> None:
    async with database.write() as session:
        slugs = []
        for value in (0.2, 0.9, 0.5):
            run = await make_external_run(session)
            await ingest(session, run.id, 1, [MetricPoint("eval/all/pass_at_1", 1, value, 0.0)])
            slugs.append(run.slug)
        page = await service.list_page(
            session, projects=None, sort="-metric:eval/all/pass_at_1:best"
        )
    assert [run.slug for run in page.items] == [slugs[1], slugs[2], slugs[0]]


async def test_a_long_list_costs_as_many_queries_as_a_short_one(
    sqlite_database: Database, count_queries: QueryCounter
) -> None:
    async def cost(more: int) -> int:
        async with sqlite_database.write() as session:
            for _ in range(more):
                await make_external_run(session, name="same")
        with count_queries(sqlite_database) as counted:
            async with sqlite_database.read() as session:
                await service.list_page(session, projects=None, limit=50)
        return counted.count

    assert await cost(2) == await cost(20)


@pytest.mark.parametrize("sort", ["", "nonsense", "metric:x", "metric::best", "metric:x:sum"])
async def test_a_wrong_order_is_refused_with_the_right_ones(sort: str) -> None:
    with pytest.raises(Invalid, match="sort by"):
        parse_sort(sort)


async def test_an_unknown_run_is_not_found(sqlite_database: Database) -> None:
    async with sqlite_database.read() as session:
        with pytest.raises(NotFound, match="run-none"):
            await service.get(session, "run-none")


async def test_a_foreign_cursor_is_refused(sqlite_database: Database) -> None:
    async with sqlite_database.read() as session:
        values: list[list[Any]] = [
            [1],
            ["2026-01-01", str(uuid4())],
            [{}, str(uuid4())],
            [None, 7],
            ["x", "y"],
        ]
        for cursor in ("x", "bm90IGpzb24", "W10", *map(encode_cursor, values)):
            for sort in ("-created_at", "metric:m:best"):
                with pytest.raises(Invalid, match="cursor"):
                    await service.list_page(session, projects=None, cursor=cursor, sort=sort)
