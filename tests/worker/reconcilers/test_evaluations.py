"""Evaluations played by a worker: each episode once, whatever happens on the way."""

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import func, select

from app.db import Database
from app.episodes.seats import Seat
from app.episodes.states import Outcome
from app.errors import NotFound
from app.evaluations import service
from app.evaluations.service import ModelRef, Request
from app.llm.chat import ModelError, ModelErrorKind
from app.models import Episode, Evaluation, EvaluationItem, EvaluationStatus
from app.projects import service as projects
from tests.evaluations.factories import RIGHT, STOP, make_evaluation, make_loop, mover, small_set
from tests.factories import ADA
from tests.fakes.clock import FakeClock
from tests.fakes.models import ScriptedModel, ScriptedModels
from worker.reconciler import Loop


def error(kind: ModelErrorKind, message: str = "it said no") -> ModelError:
    return ModelError(kind, message)


@dataclass
class Player:
    """A worker's loop over evaluations; `step` lets time pass."""

    database: Database
    models: ScriptedModels
    clock: FakeClock
    loop: Loop[Any, Any]

    async def start(self, *names: str, **given: Any) -> str:
        now: datetime = self.clock()
        made = await make_evaluation(self.database, self.models, *names, now=now, **given)
        return made.slug

    async def settle(self) -> None:
        """Plays until nothing is due at this moment."""
        for _ in range(100):
            if not await self.loop.turn():
                return
        raise AssertionError("some item is always due")

    async def step(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await self.settle()

    async def read(self, slug: str) -> Evaluation:
        async with self.database.read() as session:
            return await service.get(session, slug)

    async def items(self, slug: str) -> list[EvaluationItem]:
        evaluation = await self.read(slug)
        async with self.database.read() as session:
            query = select(EvaluationItem).where(EvaluationItem.evaluation_id == evaluation.id)
            return list(await session.scalars(query.order_by(EvaluationItem.number)))

    async def outcomes(self, slug: str) -> Counter[Outcome | None]:
        return Counter(item.outcome for item in await self.items(slug))

    async def episode_count(self) -> int:
        async with self.database.read() as session:
            return await session.scalar(select(func.count()).select_from(Episode)) or 0

    async def stop(self, slug: str) -> None:
        async with self.database.write() as session:
            await service.stop(session, await service.get(session, slug), actor=ADA)

    async def resume(self, slug: str) -> int:
        async with self.database.write() as session:
            count = await service.resume(session, await service.get(session, slug), actor=ADA)
        self.clock.now = max(
            self.clock.now, *[i.due_at for i in await self.items(slug) if i.due_at]
        )
        return count


@pytest.fixture
def models() -> ScriptedModels:
    return ScriptedModels(a=mover(), b=ScriptedModel(STOP))


@pytest.fixture
def player(database: Database, models: ScriptedModels) -> Player:
    clock = FakeClock()
    loop = make_loop(database, models, clock, look_seconds=0.01)
    return Player(database, models, clock, loop)


async def test_every_episode_is_played_once_and_kept(player: Player) -> None:
    slug = await player.start("a", "b", concurrency=2)
    await player.settle()

    evaluation = await player.read(slug)
    assert evaluation.status is EvaluationStatus.SUCCEEDED
    assert evaluation.started_at == evaluation.ended_at == player.clock()
    items = await player.items(slug)
    assert len(items) == 8
    assert all(item.due_at is None and item.lease_token is None for item in items)
    assert {item.turns for item in items if item.model_number == 1} == {1}
    assert {item.outcome for item in items if item.model_number == 1} == {Outcome.WRONG_STOP}
    assert {item.turns for item in items if item.model_number == 0} == {3}
    assert await player.episode_count() == 8


async def test_no_more_episodes_are_under_way_than_were_asked_for(player: Player) -> None:
    slug = await player.start("a", "b", concurrency=3, eval_set=small_set(10))
    most = 0
    while await player.loop.turn():
        items = await player.items(slug)
        most = max(most, sum(item.due_at is not None for item in items))
    assert most == 3
    assert await player.outcomes(slug) == {Outcome.WRONG_STOP: 10} | Counter(
        item.outcome for item in await player.items(slug) if item.model_number == 0
    )


async def test_a_silent_endpoint_holds_up_its_own_episodes_alone(player: Player) -> None:
    player.models.endpoints.add("other")
    player.models.models["a"] = ScriptedModel(error(ModelErrorKind.UNREACHABLE))
    asked = [ModelRef("fake", "a"), ModelRef("other", "b")]
    request = Request(models=asked, eval_set=small_set(4), concurrency=1)
    async with player.database.write() as session:
        home = await projects.ensure_default(session)
        made = await service.create(session, home, request, models=player.models, actor=ADA)
    player.clock.now = max(item.due_at for item in await player.items(made.slug) if item.due_at)
    await player.settle()
    items = await player.items(made.slug)
    assert [item.number for item in items if item.lane == 0 and item.due_at] == [0]
    assert {item.outcome for item in items if item.lane == 1} == {Outcome.WRONG_STOP}


async def test_a_killed_worker_loses_and_doubles_nothing(
    player: Player, database: Database, models: ScriptedModels
) -> None:
    slug = await player.start("a", concurrency=4, eval_set=small_set(6))
    gate = models.models["a"].gate = asyncio.Event()
    working = asyncio.create_task(player.loop.turn())
    await models.models["a"].asked.wait()
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working
    gate.set()
    models.models["a"].gate = None
    assert await player.outcomes(slug) == {None: 6}

    other = Player(database, models, player.clock, make_loop(database, models, player.clock))
    await other.settle()
    assert await player.outcomes(slug) == {None: 6}, "the dead worker's claims still hold"
    await other.step(16)

    assert (await player.read(slug)).status is EvaluationStatus.SUCCEEDED
    assert None not in await player.outcomes(slug)
    assert await player.episode_count() == 6


async def test_a_worker_that_lost_its_claim_stores_nothing(
    player: Player, database: Database, models: ScriptedModels
) -> None:
    slug = await player.start("a", concurrency=1, eval_set=small_set(1))
    slow = ScriptedModels(a=ScriptedModel(STOP, gate=asyncio.Event()))
    late = make_loop(database, slow, player.clock)
    working = asyncio.create_task(late.turn())
    await slow.models["a"].asked.wait()
    await player.step(16)
    (item,) = await player.items(slug)
    assert item.turns == 3
    assert slow.models["a"].gate is not None
    slow.models["a"].gate.set()
    await working

    (item,) = await player.items(slug)
    assert item.turns == 3
    assert await player.episode_count() == 1


async def test_a_stop_ends_what_is_played_and_resume_plays_the_rest(
    player: Player, models: ScriptedModels
) -> None:
    slug = await player.start("b", concurrency=2, eval_set=small_set(5))
    assert await player.loop.turn() == 2
    gate = models.models["b"].gate = asyncio.Event()
    models.models["b"].asked.clear()
    working = asyncio.create_task(player.loop.turn())
    await models.models["b"].asked.wait()
    await player.stop(slug)
    assert (await player.read(slug)).status is EvaluationStatus.STOPPING
    await working

    assert (await player.read(slug)).status is EvaluationStatus.STOPPED
    assert await player.outcomes(slug) == {Outcome.WRONG_STOP: 2, None: 3}
    assert await player.loop.turn() == 0
    gate.set()
    assert await player.resume(slug) == 3
    await player.settle()
    assert (await player.read(slug)).status is EvaluationStatus.SUCCEEDED
    assert await player.outcomes(slug) == {Outcome.WRONG_STOP: 5}
    assert await player.episode_count() == 5


async def test_nobody_need_be_there_to_stop_what_only_waits(player: Player) -> None:
    slug = await player.start("a")
    await player.stop(slug)

    assert (await player.read(slug)).status is EvaluationStatus.STOPPED
    assert await player.loop.turn() == 0


async def test_a_silent_endpoint_pauses_the_evaluation_which_goes_on_by_itself(
    player: Player, models: ScriptedModels
) -> None:
    silent = error(ModelErrorKind.UNREACHABLE, "Nobody listens there.")
    models.models["a"].script = [silent]
    slug = await player.start("a", concurrency=2)
    await player.settle()
    for _ in range(8):
        await player.step(31)
    evaluation = await player.read(slug)
    assert evaluation.status is EvaluationStatus.RUNNING
    (condition,) = evaluation.conditions
    assert condition["kind"] == "endpoint_unreachable"
    assert condition["message"] == "Nobody listens there."
    assert await player.outcomes(slug) == {None: 4}

    models.models["a"].script = [STOP]
    await player.step(31)
    evaluation = await player.read(slug)
    assert evaluation.status is EvaluationStatus.SUCCEEDED
    assert evaluation.conditions == []


async def test_when_one_is_answered_the_others_wait_no_longer(
    player: Player, models: ScriptedModels
) -> None:
    silent = error(ModelErrorKind.UNREACHABLE)
    models.models["a"].script = [silent, silent, silent, silent, STOP]
    slug = await player.start("a", concurrency=2)
    await player.settle()
    await player.step(2)
    await player.step(4)

    assert (await player.read(slug)).status is EvaluationStatus.SUCCEEDED


async def test_an_endpoint_that_fails_three_times_is_the_episodes_end(
    player: Player, models: ScriptedModels
) -> None:
    models.models["a"].script = [error(ModelErrorKind.SERVER_ERROR, "<b>500</b>")]
    slug = await player.start("a", eval_set=small_set(2))
    await player.settle()
    assert await player.outcomes(slug) == {None: 2}
    for _ in range(3):
        await player.step(31)
    evaluation = await player.read(slug)
    assert evaluation.status is EvaluationStatus.FAILED
    assert evaluation.status_reason == (
        "2 episodes got no answer and count in no rate. The last error: <b>500</b>"
    )
    assert len(models.models["a"].requests) == 6

    models.models["a"].script = [STOP]
    assert await player.resume(slug) == 2
    await player.settle()
    assert (await player.read(slug)).status is EvaluationStatus.SUCCEEDED
    assert await player.outcomes(slug) == {Outcome.WRONG_STOP: 2}


async def test_what_cannot_pass_is_not_tried_again(player: Player, models: ScriptedModels) -> None:
    models.models["a"].script = [RIGHT, error(ModelErrorKind.NOT_FOUND, "no such model")]
    slug = await player.start("a", eval_set=small_set(1))
    await player.settle()

    (item,) = await player.items(slug)
    assert (item.outcome, item.turns, item.message) == (
        Outcome.ENDPOINT_ERROR,
        1,
        "no such model",
    )
    assert item.episode_id is not None, "the turns before the failure are kept"


async def test_a_removed_endpoint_ends_its_episodes(player: Player, models: ScriptedModels) -> None:
    def gone(seat: Seat) -> None:
        raise NotFound(f"there is no endpoint {seat.endpoint}")

    slug = await player.start("a")
    models.on_open = gone
    await player.settle()

    assert (await player.read(slug)).status is EvaluationStatus.FAILED
    assert await player.outcomes(slug) == {Outcome.ENDPOINT_ERROR: 4}


async def test_a_conversation_that_is_too_long_counts_as_the_models_failure(
    player: Player, models: ScriptedModels
) -> None:
    models.models["a"].script = [error(ModelErrorKind.CONTEXT_OVERFLOW)]
    slug = await player.start("a")
    await player.settle()

    assert (await player.read(slug)).status is EvaluationStatus.SUCCEEDED
    assert await player.outcomes(slug) == {Outcome.CONTEXT_LIMIT: 4}
