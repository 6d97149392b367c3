"""Takes turns of episodes: claims them, asks the models outside of any session, keeps what comes.

A claim is a conditional UPDATE, so two that ask at once make one turn; it ends by itself, so a
process that is killed leaves a turn that may be asked for again. Stopping an episode ends its
claims; whichever process asks sees that within a second, and hangs up on the endpoint.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.clock import utcnow
from app.db import Database
from app.episodes import repository
from app.episodes.asking import TURN_SECONDS, Stopped, play_turn, unless
from app.episodes.engine import Answer, Lane, Task, persons_move
from app.episodes.loaded import is_claimed, lane_of, seat_of, task_of
from app.episodes.seats import ModelSource, sampling_of
from app.episodes.service import lane_values, turn_values
from app.episodes.states import LaneStatus, Source
from app.errors import Conflict, Invalid, NotFound, Problem, SkydeckError
from app.ids import new_id
from app.llm.chat import ModelError, ModelErrorKind, Sampling
from app.models import Episode, EpisodeLane, EpisodeTurn
from app.secrets import service as secrets

_CLAIM = timedelta(seconds=TURN_SECONDS + 30)
LOOK_SECONDS = 1.0
"""How often the one who asks looks whether the answer is still wanted."""
MAX_TEXT = 4_000

OnLaneText = Callable[[int, str], None]
"""Takes a lane's number and the next piece of its answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """What is asked for. Without `lane`: of all lanes that are behind, so that they stay in step.

    `action` is a person's move (`right`, `stop`, …), `text` an answer that a person wrote; else
    models are asked. `is_retry`: those that failed are asked again. `turn` is the number of the
    turn that is meant: where it was taken already, nothing is done.
    """

    lane: int | None = None
    turn: int | None = None
    action: str | None = None
    text: str | None = None
    is_retry: bool = False

    @property
    def is_persons(self) -> bool:
        return self.action is not None or self.text is not None


@dataclass(frozen=True, slots=True)
class _Claim:
    row: EpisodeLane
    task: Task
    sampling: Sampling
    token: str


async def take_turns(
    database: Database,
    models: ModelSource,
    slug: str,
    request: TurnRequest,
    *,
    actor: Actor,
    on_text: OnLaneText | None = None,
) -> None:
    """Takes the next turn of the lanes that `request` means, all at once.

    What an endpoint does never raises: the lane then says what happened, and may be retried.
    Raises `NotFound`, `Invalid` for a move or lane that is none, `Conflict` where no turn can be
    taken now: all lanes are over, failed, or being asked by somebody else.
    """
    async with database.write() as session:
        episode = await repository.find_by_slug(session, slug, is_locked=True)
        if episode is None:
            raise NotFound(f"there is no episode {slug}")
        rows = _wanted(episode, request)
        if request.is_persons and rows:
            await _move(session, episode, rows[0], request)
            claims = []
        else:
            claims = [await _claim(session, episode, row) for row in rows]
        if rows:
            target = Target("episode", episode.slug, episode.project_id)
            await audit.record_daily(session, actor, Action.EPISODE_PLAY, target)
    await asyncio.gather(*(_ask(database, models, claim, on_text) for claim in claims))


def _wanted(episode: Episode, request: TurnRequest) -> Sequence[EpisodeLane]:
    """The lanes whose turn it is; none if the turn that is meant was taken already."""
    rows = _meant(episode, request)
    if request.turn is not None:
        early = [row for row in rows if row.turn_count + 1 < request.turn]
        if early:
            message = f"turn {early[0].turn_count + 1} of lane {early[0].number} comes first"
            raise Conflict(message)
        rows = [row for row in rows if row.turn_count + 1 == request.turn]
        if not rows:
            return []
    for row in rows:
        if row.status is LaneStatus.OVER:
            raise Conflict(f"lane {row.number} is over: {row.outcome}; branch the episode to go on")
    now = utcnow()
    free = [row for row in rows if not is_claimed(row, now)]
    if not free:
        raise Conflict("this turn is being answered already; nothing was changed")
    return free


def _meant(episode: Episode, request: TurnRequest) -> Sequence[EpisodeLane]:
    if request.lane is not None:
        row = next((each for each in episode.lanes if each.number == request.lane), None)
        if row is None:
            raise _invalid("lane", f"there is no lane {request.lane}")
        if row.endpoint is None and not request.is_persons:
            raise Conflict(f"a person plays in lane {row.number}: send an action")
        return [row]
    if request.is_persons:
        people = [each for each in episode.lanes if each.endpoint is None]
        found = people or episode.lanes
        if len(found) > 1:
            raise _invalid("lane", "say in which lane the move is")
        return found
    wanted = LaneStatus.FAILED if request.is_retry else LaneStatus.ASKING
    rows = [each for each in episode.lanes if each.endpoint is not None and each.status is wanted]
    if not rows:
        raise Conflict(_why_none(episode, request))
    if request.is_retry:
        return rows
    if request.turn is not None:
        return rows
    fewest = min(row.turn_count for row in rows)
    return [row for row in rows if row.turn_count == fewest]


def _why_none(episode: Episode, request: TurnRequest) -> str:
    if request.is_retry:
        return "no lane failed, so there is nothing to retry"
    failed = [row.number for row in episode.lanes if row.status is LaneStatus.FAILED]
    if failed:
        return f"lane {failed[0]} failed: retry it"
    if all(row.status is LaneStatus.OVER for row in episode.lanes):
        return "the episode is over; branch it to go on"
    return "only people play on: send an action"


async def _move(
    session: AsyncSession, episode: Episode, row: EpisodeLane, request: TurnRequest
) -> None:
    lane = lane_of(task_of(episode), row)
    if request.text is not None:
        await secrets.refuse_values(session, [episode.project_id], {"text": request.text})
    lane.take_answer(_persons_answer(request, lane.task))
    token = str(new_id())
    await _take_claim(session, row, token)
    await _store(session, row, lane, token)


def _persons_answer(request: TurnRequest, task: Task) -> Answer:
    if request.text is not None:
        return Answer(text=request.text, source=Source.PERSON)
    try:
        return persons_move(request.action or "", task.dialect)
    except ValueError as error:
        raise _invalid("action", str(error)) from None


async def _claim(session: AsyncSession, episode: Episode, row: EpisodeLane) -> _Claim:
    token = str(new_id())
    await _take_claim(session, row, token)
    return _Claim(row, task_of(episode), sampling_of(episode.sampling), token)


async def _take_claim(session: AsyncSession, row: EpisodeLane, token: str) -> None:
    now = utcnow()
    if not await repository.claim(session, row, token=token, now=now, until=now + _CLAIM):
        raise Conflict("this turn was just taken by somebody else; nothing was changed")


async def _ask(
    database: Database, models: ModelSource, claim: _Claim, on_text: OnLaneText | None
) -> None:
    try:
        # All its pictures are drawn again, which takes a while for large mazes.
        lane = await asyncio.to_thread(lane_of, claim.task, claim.row, has_pictures=True)
        await unless(_play(models, claim, lane, on_text), _unwanted(database, claim))
        async with database.write() as session:
            await _store(session, claim.row, lane, claim.token)
    except Stopped:
        # Whoever stopped it has ended the claim, and has said what became of the lane.
        return
    except BaseException:
        await asyncio.shield(_end_claim(database, claim))
        raise


async def _play(models: ModelSource, claim: _Claim, lane: Lane, on_text: OnLaneText | None) -> None:
    number = claim.row.number
    say = None if on_text is None else lambda text: on_text(number, text)
    try:
        async with models.open(seat_of(claim.row)) as model:
            await play_turn(lane, model, claim.sampling, on_text=say)
    except SkydeckError as error:
        lane.fail(_as_model_error(error))


async def _unwanted(database: Database, claim: _Claim) -> None:
    """Returns once the claim is gone. A look that fails says nothing, and is made again."""
    is_ours = True
    while is_ours:
        await asyncio.sleep(LOOK_SECONDS)
        with suppress(SQLAlchemyError):
            async with database.read() as session:
                is_ours = await repository.has_claim(session, claim.row.id, claim.token)


def _as_model_error(error: SkydeckError) -> ModelError:
    if isinstance(error, ModelError):
        return error
    kind = ModelErrorKind.NOT_FOUND if isinstance(error, NotFound) else ModelErrorKind.REFUSED
    return ModelError(kind, error.message)


async def _store(session: AsyncSession, row: EpisodeLane, lane: Lane, token: str) -> None:
    """Writes the lane and its new turn; nothing if the claim is gone: it was stopped or is late."""
    stored = await repository.apply(session, row, token=token, values=lane_values(lane))
    if stored and len(lane.turns) > row.turn_count:
        session.add(EpisodeTurn(**turn_values(row.id, lane, len(lane.turns), utcnow())))


async def _end_claim(database: Database, claim: _Claim) -> None:
    async with database.write() as session:
        await repository.end_claim(session, claim.row.id, claim.token)


def _invalid(field: str, message: str) -> Invalid:
    return Invalid(message, [Problem(field, field, message)])
