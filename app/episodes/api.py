"""JSON API of episodes: make one, take its turns, look at it, branch it."""

import asyncio
from typing import Annotated

from fastapi import Depends, Query

from app.access.limits import RequestLimit
from app.api.deps import (
    DEFAULT_LIMIT,
    EpisodeReader,
    EpisodeWriter,
    IdCursor,
    Limit,
    ProjectReader,
    Reading,
    Store,
    Writer,
    Writing,
)
from app.api.idempotency import Idempotent
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.clock import utcnow
from app.db import Database
from app.episodes import service
from app.episodes.conversations import all_messages, request_of
from app.episodes.deps import Models
from app.episodes.schemas import (
    EpisodeAnswer,
    EpisodeBody,
    EpisodeLineAnswer,
    ForkBody,
    LaneOnlyBody,
    RequestAnswer,
    TurnAnswer,
    TurnBody,
)
from app.episodes.states import EpisodeOrigin
from app.episodes.turns import TurnRequest, take_turns
from app.models import Episode
from app.projects import service as projects
from app.routing import Router

router = Router(tags=["episodes"], route_class=JsonRoute)
TURNS_A_MINUTE = 300
"""Of one caller: four lanes a request, so this paces nobody who looks at what is played."""
_turns = [Depends(RequestLimit("turns", TURNS_A_MINUTE))]


@router.post("/episodes", status_code=201)
async def create_episode(
    body: EpisodeBody, caller: Writer, store: Store, models: Models, once: Idempotent
) -> EpisodeAnswer:
    """Makes an episode for up to four models or people on the same maze. Asks nobody yet."""
    async with store.write() as session:

        async def make() -> EpisodeAnswer:
            home = await projects.choose(session, caller, body.project)
            made = await service.create(
                session, body.spec(), project_id=home.id, models=models, actor=caller.actor
            )
            return await _answer(made)

        return await once.create(session, caller, make, answer=EpisodeAnswer)


@router.get("/episodes")
async def list_episodes(
    caller: ProjectReader,
    session: Reading,
    project: Annotated[str | None, Query(description="Only episodes of this project")] = None,
    origin: EpisodeOrigin = EpisodeOrigin.PLAYGROUND,
    limit: Limit = DEFAULT_LIMIT,
    cursor: IdCursor = None,
) -> Listing[EpisodeLineAnswer]:
    """Those of your projects, newest first."""
    page = await service.list_page(
        session,
        projects=await projects.narrow(session, caller, project),
        origin=origin,
        limit=limit,
        cursor=cursor,
    )
    items = [EpisodeLineAnswer.of(episode) for episode in page.items]
    return Listing(items=items, next_cursor=page.next_cursor)


@router.get("/episodes/{episode_id}")
async def get_episode(
    episode_id: str,
    _caller: EpisodeReader,
    store: Store,
    messages: Annotated[bool, Query(description="With what each turn was asked")] = False,
) -> EpisodeAnswer:
    """An episode with all its turns."""
    return await _fresh(store, episode_id, has_messages=messages)


@router.delete("/episodes/{episode_id}", status_code=204)
async def delete_episode(episode_id: str, caller: EpisodeWriter, session: Writing) -> None:
    """Deletes an episode with all its turns; what was branched from it stays."""
    episode = await service.get(session, episode_id)
    await service.delete(session, episode, actor=caller.actor)


@router.get("/episodes/{episode_id}/lanes/{lane}/turns/{turn}")
async def get_turn(
    episode_id: str, lane: int, turn: int, _caller: EpisodeReader, store: Store
) -> RequestAnswer:
    """One turn with exactly what the model was sent, pictures included."""
    async with store.read() as session:
        episode = await service.get(session, episode_id)
    row, played, messages = await request_of(episode, lane=lane, turn=turn)
    return RequestAnswer(
        lane=lane,
        endpoint=row.endpoint,
        model=row.model,
        messages=messages,
        sampling=episode.sampling,
        turn=TurnAnswer.of(played),
    )


@router.post("/episodes/{episode_id}/turns", dependencies=_turns)
async def take_turn(
    episode_id: str,
    caller: EpisodeWriter,
    store: Store,
    models: Models,
    body: TurnBody | None = None,
) -> EpisodeAnswer:
    """Asks the models for their next turn, or takes a person's.

    What an endpoint does wrong is said in the lane's `failure`; nothing is lost, and asking again
    tries again. 409 where no turn can be taken now.
    """
    request = (body or TurnBody()).request()
    await take_turns(store, models, episode_id, request, actor=caller.actor)
    return await _fresh(store, episode_id)


@router.post("/episodes/{episode_id}/retry", dependencies=_turns)
async def retry_turn(
    episode_id: str,
    caller: EpisodeWriter,
    store: Store,
    models: Models,
    body: LaneOnlyBody | None = None,
) -> EpisodeAnswer:
    """Asks again where an endpoint gave no answer."""
    request = TurnRequest(lane=body.lane if body else None, is_retry=True)
    await take_turns(store, models, episode_id, request, actor=caller.actor)
    return await _fresh(store, episode_id)


@router.post("/episodes/{episode_id}/stop")
async def stop_episode(
    episode_id: str, caller: EpisodeWriter, store: Store, body: LaneOnlyBody | None = None
) -> EpisodeAnswer:
    """Ends the lanes that are not over; an answer that is under way is dropped."""
    async with store.write() as session:
        lane = body.lane if body else None
        await service.stop(session, episode_id, actor=caller.actor, lane=lane)
    return await _fresh(store, episode_id)


@router.post("/episodes/{episode_id}/fork", status_code=201)
async def fork_episode(
    episode_id: str, caller: EpisodeWriter, store: Store, body: ForkBody, once: Idempotent
) -> EpisodeAnswer:
    """A new episode that begins with the first turns of this one, to be gone on with otherwise."""
    async with store.write() as session:

        async def make() -> EpisodeAnswer:
            episode = await service.get(session, episode_id)
            made = await service.fork(
                session, episode, turn=body.turn, lane=body.lane, actor=caller.actor
            )
            return await _answer(made)

        return await once.create(session, caller, make, answer=EpisodeAnswer)


async def _fresh(store: Database, slug: str, *, has_messages: bool = False) -> EpisodeAnswer:
    async with store.read() as session:
        episode = await service.get(session, slug)
    return await _answer(episode, has_messages=has_messages)


async def _answer(episode: Episode, *, has_messages: bool = False) -> EpisodeAnswer:
    # Long episodes on large mazes take tens of milliseconds.
    loaded = await asyncio.to_thread(service.load, episode, utcnow())
    messages = await all_messages(episode) if has_messages else ()
    return EpisodeAnswer.of(episode, loaded, messages)
