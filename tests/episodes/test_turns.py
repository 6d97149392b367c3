"""Turns on both databases: written once, claimed by one, never lost."""

import asyncio
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError

from app.clock import utcnow
from app.db import Database
from app.episodes import repository, service, turns
from app.episodes.seats import Seat
from app.episodes.service import LoadedLane
from app.episodes.states import LaneStatus, Outcome, Source
from app.episodes.turns import TurnRequest, take_turns
from app.errors import Conflict, Invalid, NotFound
from app.llm.chat import ModelError, ModelErrorKind
from app.models import AuditEntry, Episode, EpisodeLane
from tests.episodes.factories import fresh, make_episode, solution, take, wall
from tests.factories import ADA
from tests.fakes.models import ScriptedModel, ScriptedModels, completion

BROKEN = ModelError(ModelErrorKind.SERVER_ERROR, "The endpoint failed.")
UP = "<action>up</action>"


def lanes(episode: Episode) -> list[LoadedLane]:
    return list(service.load(episode, utcnow()).lanes)


def counts(episode: Episode) -> list[int]:
    return [lane.turn_count for lane in episode.lanes]


async def test_two_models_play_in_step_to_the_end(database: Database) -> None:
    models = ScriptedModels(good=ScriptedModel(*solution()), bad=ScriptedModel(wall()))
    episode = await make_episode(database, models, "good", "bad")
    for number in range(1, len(solution()) + 1):
        episode = await take(database, models, episode)
        assert counts(episode) == [number, number]
    good, bad = lanes(episode)
    assert (good.lane.outcome, good.lane.reward) == (Outcome.SOLVED, 1.0)
    assert (episode.lanes[0].outcome, episode.lanes[0].reward) == (Outcome.SOLVED, 1.0)
    assert bad.lane.status is LaneStatus.ASKING
    while episode.lanes[1].status is LaneStatus.ASKING:
        episode = await take(database, models, episode)
    assert counts(episode) == [13, 15]
    assert episode.lanes[1].outcome is Outcome.WALL_BUMPING
    with pytest.raises(Conflict, match="over"):
        await take(database, models, episode)


async def test_what_was_asked_and_answered_is_kept(database: Database) -> None:
    first, second, *_ = solution()
    model = ScriptedModel(completion(first, prompt_tokens=310, completion_tokens=5), second)
    models = ScriptedModels(good=model)
    episode = await make_episode(database, models, "good")
    await take(database, models, episode)
    episode = await take(database, models, episode)
    lane = lanes(episode)[0].lane
    answer = lane.turns[0].answer
    assert (answer.text, answer.prompt_tokens, answer.completion_tokens) == (first, 310, 5)
    assert (answer.latency_seconds, answer.finish_reason) == (0.25, "stop")
    seen = lane.branch(len(lane.turns))
    assert [turn.answer for turn in seen.turns] == [turn.answer for turn in lane.turns]
    rebuilt = service.sampling_of(episode.sampling)
    assert model.samplings == [rebuilt, rebuilt]
    assert len(model.requests[1]) == 3


async def test_two_clicks_at_once_make_one_turn(database: Database) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(*solution(), gate=gate)
    models = ScriptedModels(good=model)
    episode = await make_episode(database, models, "good")
    first = asyncio.create_task(take(database, models, episode))
    await model.asked.wait()
    assert lanes(await fresh(database, episode))[0].is_answering
    with pytest.raises(Conflict, match="already"):
        await take(database, models, episode)
    with pytest.raises(Conflict, match="already"):
        await take(database, models, episode, lane=1, action="up")
    gate.set()
    episode = await first
    assert counts(episode) == [1]
    assert len(model.requests) == 1
    # The second click arrives after all, and means the turn that was taken.
    episode = await take(database, models, episode, turn=1)
    assert counts(episode) == [1]
    assert not lanes(episode)[0].is_answering


async def test_many_clicks_make_one_turn(database: Database) -> None:
    models = ScriptedModels(good=ScriptedModel(*solution()))
    episode = await make_episode(database, models, "good")
    clicks = [take(database, models, episode, turn=1) for _ in range(6)]
    done = await asyncio.gather(*clicks, return_exceptions=True)
    assert all(isinstance(each, Episode | Conflict) for each in done), done
    assert counts(await fresh(database, episode)) == [1]


async def test_a_failed_turn_is_said_and_retried(database: Database) -> None:
    first, second, *_ = solution()
    models = ScriptedModels(
        good=ScriptedModel(first, second), bad=ScriptedModel(first, BROKEN, second)
    )
    episode = await make_episode(database, models, "good", "bad")
    await take(database, models, episode)
    episode = await take(database, models, episode)
    assert counts(episode) == [2, 1]
    failed = lanes(episode)[1].lane
    assert failed.status is LaneStatus.FAILED
    assert failed.failure is not None
    assert (failed.failure.kind, failed.failure.message, failed.failure.is_retryable) == (
        ModelErrorKind.SERVER_ERROR,
        "The endpoint failed.",
        True,
    )
    # The other goes on, the failed one waits for somebody.
    episode = await take(database, models, episode)
    assert counts(episode) == [3, 1]
    episode = await take(database, models, episode, is_retry=True)
    assert counts(episode) == [3, 2]
    assert episode.lanes[1].failure is None
    # Now it is behind, so a step is its alone.
    episode = await take(database, models, episode)
    assert counts(episode) == [3, 3]
    with pytest.raises(Conflict, match="nothing to retry"):
        await take(database, models, episode, is_retry=True)


async def test_a_model_that_cannot_be_opened_fails_its_turn(database: Database) -> None:
    models = ScriptedModels(good=ScriptedModel(*solution()))
    episode = await make_episode(database, models, "good")

    def refuse(_seat: Seat) -> None:
        raise NotFound("there is no endpoint fake any more")

    models.on_open = refuse
    episode = await take(database, models, episode)
    failure = lanes(episode)[0].lane.failure
    assert failure is not None
    assert (failure.kind, failure.message) == (
        ModelErrorKind.NOT_FOUND,
        "there is no endpoint fake any more",
    )
    models.on_open = lambda _seat: None
    assert counts(await take(database, models, episode, lane=1)) == [1]


async def test_a_killed_process_leaves_the_turn_to_be_asked_again(database: Database) -> None:
    models = ScriptedModels(good=ScriptedModel(*solution()))
    episode = await make_episode(database, models, "good")
    async with database.write() as session:
        until = utcnow() + timedelta(seconds=60)
        values = {"claim_token": "somebody", "claim_until": until}
        await session.execute(update(EpisodeLane).values(**values))
    with pytest.raises(Conflict):
        await take(database, models, episode)
    with patch.object(turns, "utcnow", lambda: until + timedelta(seconds=1)):
        episode = await take(database, models, episode)
    assert counts(episode) == [1]


async def test_a_clock_that_was_set_back_holds_no_turn_up(database: Database) -> None:
    models = ScriptedModels(good=ScriptedModel(*solution()))
    episode = await make_episode(database, models, "good")
    async with database.write() as session:
        values = {"claim_token": "before", "claim_until": utcnow() + timedelta(days=1)}
        await session.execute(update(EpisodeLane).values(**values))
    assert not lanes(await fresh(database, episode))[0].is_answering
    assert counts(await take(database, models, episode)) == [1]


async def test_a_cancelled_request_gives_its_claim_back(database: Database) -> None:
    model = ScriptedModel(*solution(), gate=asyncio.Event())
    models = ScriptedModels(good=model)
    episode = await make_episode(database, models, "good")
    asking = asyncio.create_task(take(database, models, episode))
    await model.asked.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not lanes(await fresh(database, episode))[0].is_answering
    model.gate = None
    assert counts(await take(database, models, episode)) == [1]


async def test_an_answer_after_the_end_is_dropped(database: Database) -> None:
    model = ScriptedModel(*solution(), gate=asyncio.Event())
    models = ScriptedModels(good=model)
    episode = await make_episode(database, models, "good")
    asking = asyncio.create_task(take(database, models, episode))
    await model.asked.wait()
    async with database.write() as session:
        await service.stop(session, episode.slug, actor=ADA)
    assert model.gate is not None
    model.gate.set()
    episode = await asking
    assert (counts(episode), episode.lanes[0].outcome) == ([0], Outcome.STOPPED)


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_who_stops_or_deletes_an_episode_hangs_up_on_the_endpoint(
    database: Database, is_deleted: bool
) -> None:
    model = ScriptedModel(*solution(), gate=asyncio.Event())
    models = ScriptedModels(good=model, other=ScriptedModel(*solution()))
    episode = await make_episode(database, models, "good", "other")
    with patch.object(turns, "LOOK_SECONDS", 0.01):
        asking = asyncio.create_task(
            take_turns(database, models, episode.slug, TurnRequest(), actor=ADA)
        )
        await model.asked.wait()
        async with database.write() as session:
            if is_deleted:
                found = await service.get(session, episode.slug)
                await service.delete(session, found, actor=ADA)
            else:
                await service.stop(session, episode.slug, lane=1, actor=ADA)
        await asyncio.wait_for(asking, 20)
    assert model.cancelled
    if not is_deleted:
        episode = await fresh(database, episode)
        assert (counts(episode), episode.lanes[0].outcome) == ([0, 1], Outcome.STOPPED)


async def test_a_slow_answer_that_is_wanted_is_waited_for(database: Database) -> None:
    model = ScriptedModel(*solution(), gate=asyncio.Event())
    models = ScriptedModels(good=model)
    episode = await make_episode(database, models, "good")
    looks = 0

    async def has_claim(*given: object) -> bool:
        nonlocal looks
        looks += 1
        if looks == 1:
            raise OperationalError("locked", None, Exception())
        if looks == 3 and model.gate is not None:
            model.gate.set()
        return bool(await claimed(*given))

    claimed: Any = repository.has_claim
    with (
        patch.object(turns, "LOOK_SECONDS", 0.01),
        patch.object(repository, "has_claim", has_claim),
    ):
        episode = await take(database, models, episode)
    assert counts(episode) == [1]
    assert looks >= 3


async def test_people_play_and_force_moves(database: Database) -> None:
    models = ScriptedModels(good=ScriptedModel(*solution()))
    episode = await make_episode(database, models, None, "good")
    episode = await take(database, models, episode)
    assert counts(episode) == [0, 1]
    episode = await take(database, models, episode, action="right")
    episode = await take(database, models, episode, lane=2, action="stop")
    assert counts(episode) == [1, 2]
    assert episode.lanes[1].outcome is Outcome.WRONG_STOP
    forced = lanes(episode)[1].lane.turns[1].answer
    assert (forced.source, forced.text) == (Source.PERSON, "<action>stop</action>")
    episode = await take(database, models, episode, lane=1, text="I think <action>up</action>")
    assert lanes(episode)[0].lane.turns[1].answer.text == "I think <action>up</action>"
    with pytest.raises(Conflict, match="over"):
        await take(database, models, episode, lane=2, action="up")
    with pytest.raises(Conflict, match="only people"):
        await take(database, models, episode)
    with pytest.raises(Conflict, match="a person plays"):
        await take(database, models, episode, lane=1)
    with pytest.raises(Invalid, match="right, up, left, down, stop"):
        await take(database, models, episode, lane=1, action="jump")
    with pytest.raises(Invalid, match="no lane 3"):
        await take(database, models, episode, lane=3)
    with pytest.raises(Conflict, match="comes first"):
        await take(database, models, episode, lane=1, turn=9, action="up")
    assert counts(await fresh(database, episode)) == [2, 2]


async def test_the_context_limit_ends_a_lane(database: Database) -> None:
    models = ScriptedModels(good=ScriptedModel(completion(solution()[0], prompt_tokens=900)))
    models.max_model_len = 905
    episode = await make_episode(database, models, "good")
    episode = await take(database, models, episode)
    assert episode.lanes[0].outcome is Outcome.CONTEXT_LIMIT
    lane = lanes(episode)[0].lane
    assert (lane.outcome, len(lane.turns)) == (Outcome.CONTEXT_LIMIT, 1)
    assert lane.failure is not None
    assert "904 are the limit" in lane.failure.message


async def test_text_is_streamed_by_lane(database: Database) -> None:
    models = ScriptedModels(good=ScriptedModel(UP), bad=ScriptedModel(wall()))
    episode = await make_episode(database, models, "good", "bad")
    heard: list[tuple[int, str]] = []
    await take_turns(
        database,
        models,
        episode.slug,
        TurnRequest(),
        actor=ADA,
        on_text=lambda number, text: heard.append((number, text)),
    )
    assert sorted(heard) == [(1, UP), (2, wall())]


async def test_a_branch_begins_with_the_first_turns(database: Database) -> None:
    models = ScriptedModels(good=ScriptedModel(*solution()), bad=ScriptedModel(wall()))
    episode = await make_episode(database, models, "good", "bad")
    for _ in range(5):
        episode = await take(database, models, episode)
    async with database.write() as session:
        branch = await service.fork(session, episode, turn=2, actor=ADA)
    assert counts(branch) == [2, 2]
    assert branch.parent is not None
    assert (branch.parent.slug, branch.parent_turn) == (episode.slug, 2)
    async with database.write() as session:
        alone = await service.fork(session, episode, turn=5, lane=2, actor=ADA)
        assert [each.slug for each in await service.list_branches(session, episode)] == [
            branch.slug,
            alone.slug,
        ]
        with pytest.raises(Invalid, match="5 turns"):
            await service.fork(session, episode, turn=6, actor=ADA)
    assert [lane.model for lane in alone.lanes] == ["bad"]
    before = [turn.answer for turn in lanes(episode)[1].lane.turns]
    assert [turn.answer for turn in lanes(alone)[0].lane.turns] == before
    branch = await take(database, models, branch, lane=1, action="stop")
    assert branch.lanes[0].outcome is Outcome.WRONG_STOP
    assert counts(await fresh(database, episode)) == [5, 5]


async def test_a_stopped_lane_may_be_branched_and_gone_on_with(database: Database) -> None:
    models = ScriptedModels(good=ScriptedModel(*solution()))
    episode = await take(database, models, await make_episode(database, models, "good"))
    async with database.write() as session:
        await service.stop(session, episode.slug, actor=ADA)
        await service.stop(session, episode.slug, actor=ADA)
    episode = await fresh(database, episode)
    async with database.write() as session:
        branch = await service.fork(session, episode, turn=1, actor=ADA)
    assert branch.lanes[0].status is LaneStatus.ASKING
    assert counts(await take(database, models, branch)) == [2]


async def test_deleting_keeps_what_was_branched(database: Database) -> None:
    models = ScriptedModels(good=ScriptedModel(*solution()))
    episode = await take(database, models, await make_episode(database, models, "good"))
    async with database.write() as session:
        branch = await service.fork(session, episode, turn=1, actor=ADA)
    async with database.write() as session:
        await service.delete(session, await service.get(session, episode.slug), actor=ADA)
    with pytest.raises(NotFound):
        await fresh(database, episode)
    branch = await fresh(database, branch)
    assert (branch.parent_id, branch.parent_turn, counts(branch)) == (None, 1, [1])


async def test_the_audit_log_tells_of_it(database: Database) -> None:
    models = ScriptedModels(good=ScriptedModel(*solution()))
    episode = await make_episode(database, models, "good")
    for _ in range(3):
        episode = await take(database, models, episode)
    async with database.write() as session:
        await service.stop(session, episode.slug, actor=ADA)
    async with database.read() as session:
        actions = list(await session.scalars(select(AuditEntry.action).order_by(AuditEntry.id)))
    assert actions == ["episode.create", "episode.play", "episode.stop"]


async def test_an_episode_that_cannot_be_is_refused_whole(database: Database) -> None:
    models = ScriptedModels(good=ScriptedModel("x"))
    with pytest.raises(Invalid) as refused:
        await make_episode(database, models, env_id="maze_2d/8x8", seed=-1, max_turns=0)
    assert {each.field for each in refused.value.problems} == {
        "env_id",
        "seed",
        "max_turns",
        "lanes",
    }
    with pytest.raises(NotFound, match="no model gone"):
        await make_episode(database, models, "good", "gone")
