"""Episodes: made, found, listed, branched, stopped, deleted. Their turns are in `turns.py`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Insert, insert
from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.clock import utcnow
from app.episodes import repository
from app.episodes.engine import MAX_INPUT_TOKENS, Failure, Lane, Task
from app.episodes.loaded import LoadedEpisode, LoadedLane, lane_of, load, seat_of, task_of
from app.episodes.seats import (
    PERSON,
    ModelSource,
    Seat,
    require_sizes,
    sampling_of,
    stored_sampling,
)
from app.episodes.states import EpisodeOrigin, LaneStatus, Outcome
from app.errors import Conflict, Invalid, NotFound, Problem
from app.ids import new_id, new_slug
from app.llm.chat import Sampling
from app.maze.generate import size_of
from app.maze.parse import Dialect
from app.models import Episode, EpisodeLane, EpisodeTurn
from app.paging import Page, decode_id_cursor, page_of

__all__ = [
    "MAX_LANES",
    "MAX_TURNS",
    "EpisodeSpec",
    "LaneSpec",
    "LoadedEpisode",
    "LoadedLane",
    "add_played",
    "create",
    "delete",
    "fork",
    "get",
    "list_branches",
    "list_page",
    "load",
    "sampling_of",
    "stop",
]

MAX_LANES = 4
MAX_TURNS = 200
MAX_SEED = 2**63 - 1
MAX_BRANCHES = 50


@dataclass(frozen=True, slots=True)
class LaneSpec:
    """A model of an endpoint, or a person where both are None."""

    endpoint: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSpec:
    """An episode that is asked for."""

    lanes: Sequence[LaneSpec]
    env_id: str
    seed: int
    max_turns: int
    dialect: Dialect = Dialect.KEYWORD
    sampling: Sampling = field(default_factory=Sampling)
    max_input_tokens: int | None = MAX_INPUT_TOKENS

    @property
    def task(self) -> Task:
        return Task(
            env_id=self.env_id,
            seed=self.seed,
            max_turns=self.max_turns,
            dialect=self.dialect,
            max_input_tokens=self.max_input_tokens,
        )


async def create(
    session: AsyncSession,
    spec: EpisodeSpec,
    *,
    project_id: UUID,
    models: ModelSource,
    actor: Actor,
) -> Episode:
    """Makes an episode in which nothing was played yet.

    Raises `Invalid` with all problems of its fields, `NotFound` for endpoints that are not there.
    """
    _require_ok(spec)
    seats = [await _seat(session, each, models) for each in spec.lanes]
    require_sizes(seats, spec.env_id, "lanes")
    episode = _new(spec.task, spec.sampling, project_id, actor.name, EpisodeOrigin.PLAYGROUND)
    session.add(episode)
    await session.flush()
    for number, seat in enumerate(seats, start=1):
        await _add_lane(session, episode.id, number, seat, Lane(spec.task, has_pictures=False))
    _record(session, actor, Action.EPISODE_CREATE, episode)
    await session.flush()
    return await get(session, episode.slug)


async def add_played(
    session: AsyncSession,
    lane: Lane,
    seat: Seat,
    *,
    project_id: UUID,
    sampling: Sampling,
    owner: str,
) -> UUID:
    """Keeps an episode of an evaluation, as it was played, and returns its id."""
    values = _values(lane.task, sampling, project_id, owner, EpisodeOrigin.EVALUATION)
    id_: UUID = values["id"]
    await session.execute(_inserting(Episode), [values])
    await _add_lane(session, id_, 1, seat, lane)
    return id_


async def get(session: AsyncSession, slug: str) -> Episode:
    """With project, parent, lanes and turns. Raises `NotFound`."""
    episode = await repository.find_by_slug(session, slug)
    if episode is None:
        raise NotFound(f"there is no episode {slug}")
    return episode


async def list_page(
    session: AsyncSession,
    *,
    projects: frozenset[UUID] | None,
    origin: EpisodeOrigin = EpisodeOrigin.PLAYGROUND,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[Episode]:
    """Those in `projects` (None: in all), newest first, with lanes and without turns."""
    rows = await repository.list_before(
        session,
        projects=projects,
        origin=origin,
        before=decode_id_cursor(cursor) if cursor else None,
        limit=limit + 1,
    )
    return page_of(rows, limit, lambda row: [str(row.id)])


async def list_branches(session: AsyncSession, episode: Episode) -> Sequence[Episode]:
    """The newest `MAX_BRANCHES` that were branched from it, oldest first, without lanes."""
    return await repository.list_branches(session, episode.id, limit=MAX_BRANCHES)


async def fork(
    session: AsyncSession, episode: Episode, *, turn: int, actor: Actor, lane: int | None = None
) -> Episode:
    """A new episode that begins with the first `turn` turns of each lane, or of one lane alone.

    Lanes that ended earlier are taken over whole, but not that they were stopped. Raises `Invalid`
    if no lane has so many turns, or there is no such lane.
    """
    rows = [each for each in episode.lanes if lane in (None, each.number)]
    if not rows:
        raise _no_lane(lane)
    longest = max(row.turn_count for row in rows)
    if not 0 <= turn <= longest:
        raise _invalid("turn", "range", f"there are {longest} turns, so none to go on from {turn}")
    task = task_of(episode)
    sampling = sampling_of(episode.sampling)
    made = _new(task, sampling, episode.project_id, actor.name, EpisodeOrigin.PLAYGROUND)
    made.parent_id, made.parent_turn = episode.id, turn
    session.add(made)
    await session.flush()
    for number, row in enumerate(rows, start=1):
        whole = lane_of(task, row)
        branch = whole.branch(min(turn, len(whole.turns)))
        await _add_lane(session, made.id, number, seat_of(row), branch)
    details = {"parent": episode.slug, "turn": turn}
    _record(session, actor, Action.EPISODE_FORK, made, details)
    await session.flush()
    return await get(session, made.slug)


async def stop(
    session: AsyncSession, slug: str, *, actor: Actor, lane: int | None = None
) -> Episode:
    """Ends all lanes that are not over, or one of them. An answer that comes later is dropped."""
    episode = await repository.find_by_slug(session, slug, is_locked=True)
    if episode is None:
        raise NotFound(f"there is no episode {slug}")
    rows = [each for each in episode.lanes if lane in (None, each.number)]
    if not rows:
        raise _no_lane(lane)
    ended = [row for row in rows if row.status is not LaneStatus.OVER]
    for row in ended:
        row.status, row.outcome, row.failure = LaneStatus.OVER, Outcome.STOPPED, None
        row.claim_token = row.claim_until = None
    if ended:
        details = {"lanes": [row.number for row in ended]}
        _record(session, actor, Action.EPISODE_STOP, episode, details)
        await session.flush()
    return episode


async def delete(session: AsyncSession, episode: Episode, *, actor: Actor) -> None:
    """For good, with all its turns. Raises `Conflict` for one that belongs to an evaluation."""
    if episode.origin is EpisodeOrigin.EVALUATION:
        raise Conflict("this episode belongs to an evaluation, whose numbers rest on it")
    await repository.remove(session, episode)
    _record(session, actor, Action.EPISODE_DELETE, episode)
    await session.flush()


def turn_values(lane_id: UUID, lane: Lane, number: int, now: datetime) -> dict[str, object]:
    """The columns of a turn of `lane`."""
    answer = lane.turns[number - 1].answer
    return {
        "lane_id": lane_id,
        "number": number,
        "text": answer.text,
        "source": answer.source,
        "finish_reason": answer.finish_reason and answer.finish_reason[:64],
        "prompt_tokens": _counted(answer.prompt_tokens),
        "completion_tokens": _counted(answer.completion_tokens),
        "latency_seconds": answer.latency_seconds,
        "first_token_seconds": answer.first_token_seconds,
        "created_at": now,
    }


def lane_values(lane: Lane) -> dict[str, object]:
    """The columns of a lane that playing changes."""
    return {
        "status": lane.status,
        "outcome": lane.outcome,
        "failure": stored_failure(lane.failure),
        "turn_count": len(lane.turns),
        "reward": lane.reward,
    }


def stored_failure(failure: Failure | None) -> dict[str, object] | None:
    if failure is None:
        return None
    return {
        "kind": failure.kind.value,
        "message": failure.message,
        "is_retryable": failure.is_retryable,
    }


async def _seat(session: AsyncSession, spec: LaneSpec, models: ModelSource) -> Seat:
    if spec.endpoint is None or spec.model is None:
        return PERSON
    return await models.seat(session, spec.endpoint, spec.model)


def _require_ok(spec: EpisodeSpec) -> None:
    problems = []
    try:
        size_of(spec.env_id)
    except ValueError as error:
        problems.append(Problem("env_id", "env_id", str(error)))
    if not 0 <= spec.seed <= MAX_SEED:
        problems.append(Problem("seed", "range", "a seed is a whole number from 0 to 2**63 - 1"))
    if not 1 <= spec.max_turns <= MAX_TURNS:
        problems.append(Problem("max_turns", "range", f"an episode has 1 to {MAX_TURNS} turns"))
    if not 1 <= len(spec.lanes) <= MAX_LANES:
        problems.append(Problem("lanes", "count", f"an episode has 1 to {MAX_LANES} lanes"))
    for number, lane in enumerate(spec.lanes):
        if (lane.endpoint is None) is not (lane.model is None):
            message = "name both an endpoint and its model, or neither for a person"
            problems.append(Problem(f"lanes.{number}", "seat", message))
    if problems:
        raise Invalid("; ".join(each.message for each in problems), problems)


def _new(
    task: Task, sampling: Sampling, project_id: UUID, owner: str, origin: EpisodeOrigin
) -> Episode:
    return Episode(**_values(task, sampling, project_id, owner, origin))


def _values(
    task: Task, sampling: Sampling, project_id: UUID, owner: str, origin: EpisodeOrigin
) -> dict[str, Any]:
    return {
        "id": new_id(),
        "slug": new_slug("eps"),
        "project_id": project_id,
        "origin": origin,
        "env_id": task.env_id,
        "seed": task.seed,
        "max_turns": task.max_turns,
        "dialect": task.dialect,
        "max_input_tokens": task.max_input_tokens,
        "sampling": stored_sampling(sampling),
        "owner": owner,
        "created_at": utcnow(),
    }


async def _add_lane(
    session: AsyncSession, episode_id: UUID, number: int, seat: Seat, lane: Lane
) -> None:
    id_, now = new_id(), utcnow()
    row = {
        "id": id_,
        "episode_id": episode_id,
        "number": number,
        "endpoint": seat.endpoint,
        "endpoint_name": seat.endpoint_name,
        "model": seat.model,
        "max_model_len": seat.max_model_len,
    }
    await session.execute(_inserting(EpisodeLane), [row | lane_values(lane)])
    turns = [turn_values(id_, lane, turn.number, now) for turn in lane.turns]
    if turns:
        await session.execute(_inserting(EpisodeTurn), turns)


def _inserting(model: type[Episode | EpisodeLane | EpisodeTurn]) -> Insert:
    """One statement for all rows; as objects of the session they cost several times as much."""
    return insert(model).execution_options(render_nulls=True)


def _counted(tokens: int | None) -> int | None:
    """None for a number that no server counts and no column holds."""
    return tokens if tokens is not None and 0 <= tokens < 2**31 else None


def _no_lane(number: int | None) -> Invalid:
    return _invalid("lane", "lane", f"there is no lane {number}")


def _invalid(field: str, rule: str, message: str) -> Invalid:
    return Invalid(message, [Problem(field, rule, message)])


def _record(
    session: AsyncSession,
    actor: Actor,
    action: Action,
    episode: Episode,
    details: Mapping[str, object] | None = None,
) -> None:
    target = Target("episode", episode.slug, episode.project_id)
    audit.record(session, actor, action, target, details=details)
