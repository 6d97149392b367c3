"""Plays the episodes of evaluations: one item a row, handed out by `app.evaluations.progress`."""

import asyncio
import logging
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import select

from app.clock import utcnow
from app.db import Database, ReadSession, WriteSession
from app.episodes import service as episodes
from app.episodes.driver import Patience, Sleep, play_episode
from app.episodes.engine import Failure, Lane, Task
from app.episodes.seats import ModelSource, Seat
from app.episodes.states import Outcome
from app.errors import SkydeckError
from app.evaluations import progress, repository
from app.evaluations.progress import Ended
from app.llm.chat import ModelError, ModelErrorKind, Sampling
from app.maze.parse import Dialect
from app.models import Evaluation, EvaluationItem, EvaluationStatus
from worker.lease import Clock
from worker.reconciler import Reconciler
from worker.reconcilers.stops import Stops

PATIENCE = Patience(attempts=3)
MAX_TRIES = 3
"""How often an episode begins anew before the endpoint's failure is its end."""
_SAYS_NOTHING_OF_THE_EPISODE = frozenset({ModelErrorKind.UNREACHABLE, ModelErrorKind.RATE_LIMITED})
_MESSAGE = 500

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Subject:
    """An item, and what it plays. `is_wanted`: its evaluation has not ended and is not to stop."""

    item_id: UUID
    evaluation_id: UUID
    is_wanted: bool
    is_first: bool
    tries: int
    seat: Seat
    task: Task
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Play:
    """What came of it. `lane` None: nothing was played; then `failure` says why, if one did."""

    lane: Lane | None = None
    failure: Failure | None = None


class EvaluationsReconciler(Reconciler[Subject, Play]):
    """Reconciles items: each is played to its end, or waits because its endpoint is silent."""

    model = EvaluationItem
    concurrency = 64
    is_chain = True

    def __init__(
        self,
        database: Database,
        models: ModelSource,
        *,
        patience: Patience = PATIENCE,
        sleep: Sleep = asyncio.sleep,
        clock: Clock = utcnow,
        look_seconds: float = 1.0,
    ) -> None:
        """`look_seconds`: how soon somebody who plays hears that an evaluation is to stop."""
        self._database = database
        self._models = models
        self._patience = patience
        self._sleep = sleep
        self._clock = clock
        self._stops = Stops(database, look_seconds=look_seconds)

    async def load(self, session: ReadSession, row_id: UUID) -> Subject:
        query = (
            select(EvaluationItem, Evaluation).join(Evaluation).where(EvaluationItem.id == row_id)
        )
        item, evaluation = (await session.execute(query)).one()
        return Subject(
            item_id=item.id,
            evaluation_id=evaluation.id,
            is_wanted=evaluation.status in progress.OPEN and item.outcome is None,
            is_first=evaluation.status is EvaluationStatus.QUEUED,
            tries=item.tries,
            seat=Seat(**evaluation.models[item.model_number]),
            task=Task(
                env_id=evaluation.env_id,
                seed=item.seed,
                max_turns=evaluation.max_turns,
                dialect=Dialect(evaluation.dialect),
            ),
            sampling=Sampling(temperature=evaluation.temperature),
        )

    async def observe(self, subject: Subject) -> Play:
        if not subject.is_wanted:
            return Play()
        if not subject.is_first:
            return await self._play(subject)
        # The first answer is not kept waiting: of many that begin at once, each writes in turn.
        beginning = asyncio.create_task(self._begin(subject))
        try:
            return await self._play(subject)
        finally:
            await asyncio.wait({beginning})

    async def apply(
        self, session: WriteSession, subject: Subject, observed: Play, *, now: datetime
    ) -> datetime | None:
        evaluation = await repository.lock(session, subject.evaluation_id)
        item = await session.get_one(EvaluationItem, subject.item_id)
        if item.outcome is None and (observed.lane or observed.failure):
            if not _may_pass(subject, observed):
                ended = await _kept(session, evaluation, subject, observed)
                await progress.finish(session, evaluation, item, ended, now=now)
                return None
            if evaluation.status in progress.OPEN:
                assert observed.failure is not None
                return progress.put_back(evaluation, item, observed.failure.message, now=now)
        await progress.conclude(session, evaluation, but=item.id, now=now)
        return None

    async def _play(self, subject: Subject) -> Play:
        try:
            async with (
                self._models.open(subject.seat) as model,
                self._stops.of(subject.evaluation_id) as told,
            ):
                lane = await play_episode(
                    Lane(subject.task, max_model_len=subject.seat.max_model_len),
                    model,
                    subject.sampling,
                    patience=self._patience,
                    cancel=told,
                    sleep=self._sleep,
                )
        except ModelError as error:
            return Play(failure=Failure(error.kind, error.message, is_retryable=error.is_retryable))
        except SkydeckError as error:
            # The endpoint is gone from the registry, or may not be called.
            return Play(failure=Failure(ModelErrorKind.REFUSED, error.message))
        return Play(None if lane.outcome is Outcome.STOPPED else lane, lane.failure)

    async def _begin(self, subject: Subject) -> None:
        """Says that it runs before the first episode has ended, which may take minutes."""
        try:
            async with self._database.write() as session:
                evaluation = await repository.lock(session, subject.evaluation_id)
                progress.begin(evaluation, now=self._clock())
        except Exception:
            # The end of the episode says so, too.
            log.exception("could not say that an evaluation runs")


def _may_pass(subject: Subject, play: Play) -> bool:
    """Whether the episode is worth another try."""
    is_failed = play.lane is None or play.lane.outcome is Outcome.ENDPOINT_ERROR
    failure = play.failure
    if not is_failed or failure is None or not failure.is_retryable:
        return False
    return failure.kind in _SAYS_NOTHING_OF_THE_EPISODE or subject.tries + 1 < MAX_TRIES


async def _kept(
    session: WriteSession, evaluation: Evaluation, subject: Subject, play: Play
) -> Ended:
    """Keeps the episode, if there is one, and says how it ended."""
    message = play.failure.message[:_MESSAGE] if play.failure else ""
    if play.lane is None:
        return Ended(
            outcome=Outcome.ENDPOINT_ERROR, is_passed=False, turns=0, reward=0.0, message=message
        )
    lane = play.lane
    assert lane.outcome is not None
    kept = await episodes.add_played(
        session,
        lane,
        subject.seat,
        project_id=evaluation.project_id,
        sampling=subject.sampling,
        owner=evaluation.owner,
    )
    return Ended(
        outcome=lane.outcome,
        is_passed=lane.is_passed,
        turns=len(lane.turns),
        reward=lane.reward,
        message=message,
        episode_id=kept,
    )
