"""How an evaluation goes on: the only writer of its status and of its items.

Of each lane (one an endpoint) at most `concurrency` items are handed out: they have a `due_at`, and
a worker claims them like any due row. Whoever stores an item's end hands out the next one in the
same transaction. So a kill loses nothing: an item in hand is claimed again when its lease ends,
and none is stored twice.

    queued ─▶ running ─▶ succeeded, failed
       └───────┴──▶ stopping ─▶ stopped          failed, stopped ──resume──▶ queued
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from app.episodes.states import Outcome
from app.errors import Conflict
from app.evaluations import repository
from app.models import Evaluation, EvaluationItem, EvaluationStatus

ENDPOINT_UNREACHABLE = "endpoint_unreachable"
"""Condition: an endpoint does not answer; its episodes wait and are tried again."""
ENDED = frozenset({EvaluationStatus.SUCCEEDED, EvaluationStatus.FAILED, EvaluationStatus.STOPPED})
OPEN = frozenset({EvaluationStatus.QUEUED, EvaluationStatus.RUNNING})
_RESUMABLE = frozenset({EvaluationStatus.FAILED, EvaluationStatus.STOPPED})
_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(seconds=2), timedelta(seconds=30)
_REASON = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How an item's episode ended; `episode_id` names what was kept of it."""

    outcome: Outcome
    is_passed: bool
    turns: int
    reward: float
    message: str = ""
    episode_id: UUID | None = None


def lane_count(evaluation: Evaluation) -> int:
    return len({each["endpoint"] for each in evaluation.models})


def begin(evaluation: Evaluation, *, now: datetime) -> None:
    """Marks that somebody plays; again: changes nothing."""
    if evaluation.status is EvaluationStatus.QUEUED:
        evaluation.status = EvaluationStatus.RUNNING
        evaluation.started_at = evaluation.started_at or now
        evaluation.revision += 1


async def hand_out(session: AsyncSession, evaluation: Evaluation, *, now: datetime) -> None:
    """Hands out the first items of each lane."""
    for lane in range(lane_count(evaluation)):
        await repository.hand_out(
            session, evaluation.id, lane=lane, limit=evaluation.concurrency, now=now
        )


async def finish(
    session: AsyncSession,
    evaluation: Evaluation,
    item: EvaluationItem,
    ended: Ended,
    *,
    now: datetime,
) -> None:
    """Stores the end of an item, once, and hands out the next one of its lane.

    `evaluation` is locked by the caller; the item's own `due_at` is the worker's to clear.
    """
    begin(evaluation, now=now)
    item.outcome = ended.outcome
    item.is_solved = ended.outcome is Outcome.SOLVED
    item.is_passed = ended.is_passed
    item.turns, item.reward = ended.turns, ended.reward
    item.message, item.episode_id = ended.message, ended.episode_id
    item.ended_at = now
    evaluation.revision += 1
    if ended.outcome is not Outcome.ENDPOINT_ERROR:
        await _answers_again(session, evaluation, item, now)
    if evaluation.status is not EvaluationStatus.RUNNING or not await repository.hand_out(
        session, evaluation.id, lane=item.lane, limit=1, now=now
    ):
        await conclude(session, evaluation, but=item.id, now=now)


def put_back(
    evaluation: Evaluation, item: EvaluationItem, message: str, *, now: datetime
) -> datetime:
    """The endpoint does not answer: says so, and returns when the item is to be tried again."""
    begin(evaluation, now=now)
    item.tries += 1
    endpoint = _endpoint_of(evaluation, item)
    _raise(evaluation, endpoint, message, now)
    pause: timedelta = min(_FIRST_PAUSE * 2 ** min(item.tries - 1, 10), _LONGEST_PAUSE)
    return now + pause


async def conclude(
    session: AsyncSession, evaluation: Evaluation, *, but: UUID | None = None, now: datetime
) -> None:
    """Ends the evaluation if nobody plays any more; the item `but` is about to be given back."""
    if evaluation.status in ENDED:
        return
    await session.flush()
    if await repository.count_handed_out(session, evaluation.id, but=but):
        return
    if evaluation.status is EvaluationStatus.STOPPING:
        _end(evaluation, EvaluationStatus.STOPPED, "", now)
        return
    if await repository.count_open(session, evaluation.id):
        return
    errors = await repository.error_messages(session, evaluation.id)
    if errors:
        said = f"{len(errors)} episodes" if len(errors) > 1 else "1 episode"
        reason = f"{said} got no answer and count in no rate. The last error: {errors[-1]}"
        _end(evaluation, EvaluationStatus.FAILED, reason[:_REASON], now)
    else:
        _end(evaluation, EvaluationStatus.SUCCEEDED, "", now)


async def stop(session: AsyncSession, evaluation: Evaluation, *, now: datetime) -> bool:
    """Asks for the end; what was played stays. False if it had ended or was asked before."""
    if evaluation.status not in OPEN:
        return False
    evaluation.status = EvaluationStatus.STOPPING
    evaluation.revision += 1
    await session.flush()
    await repository.take_back(session, evaluation.id)
    await conclude(session, evaluation, now=now)
    return True


async def resume(session: AsyncSession, evaluation: Evaluation, *, now: datetime) -> int:
    """Plays what is missing; returns how many episodes. Raises `Conflict` if nothing is."""
    if evaluation.status not in _RESUMABLE:
        raise Conflict(
            f"this evaluation is {evaluation.status}: only one that was stopped or failed "
            "can be resumed"
        )
    await _forget_errors(session, evaluation.id)
    evaluation.status, evaluation.status_reason = EvaluationStatus.QUEUED, ""
    evaluation.ended_at = None
    evaluation.revision += 1
    missing = await repository.count_open(session, evaluation.id)
    await hand_out(session, evaluation, now=now)
    if not missing:
        # It was stopped when its last episode had just been played.
        await conclude(session, evaluation, now=now)
    return missing


async def _forget_errors(session: AsyncSession, evaluation_id: UUID) -> None:
    await session.execute(
        update(EvaluationItem)
        .where(
            EvaluationItem.evaluation_id == evaluation_id,
            EvaluationItem.outcome == Outcome.ENDPOINT_ERROR,
        )
        .values(
            outcome=None,
            is_solved=None,
            is_passed=None,
            turns=None,
            reward=None,
            message="",
            episode_id=None,
            ended_at=None,
            tries=0,
        ),
        execution_options={"synchronize_session": False},
    )


async def _answers_again(
    session: AsyncSession, evaluation: Evaluation, item: EvaluationItem, now: datetime
) -> None:
    """Takes back what was said of the endpoint; items that wait for it wait no longer."""
    endpoint = _endpoint_of(evaluation, item)
    others = [each for each in evaluation.conditions if each["endpoint"] != endpoint]
    if len(others) == len(evaluation.conditions):
        return
    evaluation.conditions = others
    await session.execute(
        update(EvaluationItem)
        .where(
            EvaluationItem.evaluation_id == evaluation.id,
            EvaluationItem.lane == item.lane,
            EvaluationItem.lease_token.is_(None),
            EvaluationItem.due_at > now,
        )
        .values(due_at=now),
        execution_options={"synchronize_session": False},
    )


def _endpoint_of(evaluation: Evaluation, item: EvaluationItem) -> str:
    return str(evaluation.models[item.model_number]["endpoint"])


def _raise(evaluation: Evaluation, endpoint: str, message: str, now: datetime) -> None:
    """One that was raised before keeps its time."""

    def is_same(each: dict[str, object]) -> bool:
        return each["endpoint"] == endpoint

    old = next(filter(is_same, evaluation.conditions), None)
    if old is not None and old["message"] == message:
        return
    new = {
        "kind": ENDPOINT_UNREACHABLE,
        "since": old["since"] if old else now.isoformat(),
        "message": message,
        "endpoint": endpoint,
    }
    # A new list: a JSON column that is changed in place is not noticed.
    evaluation.conditions = [*_without(evaluation.conditions, endpoint), new]
    evaluation.revision += 1


def _without(items: Iterable[dict[str, object]], endpoint: str) -> list[dict[str, object]]:
    return [each for each in items if each["endpoint"] != endpoint]


def _end(evaluation: Evaluation, status: EvaluationStatus, reason: str, now: datetime) -> None:
    evaluation.status, evaluation.status_reason = status, reason
    evaluation.ended_at = now
    evaluation.conditions = []
    evaluation.revision += 1
