"""JSON API of links that share a run or an episode."""

from typing import Annotated

from fastapi import Path, Request
from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Principal
from app.api.deps import EpisodeWriter, Reading, RunWriter, Writing
from app.api.idempotency import Idempotent
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.episodes import service as episodes
from app.routing import Router
from app.runs import service as runs
from app.sharing import service
from app.sharing.repository import Shareable
from app.sharing.schemas import NewShareAnswer, ShareAnswer, ShareBody
from app.web.public_links import public_link

router = Router(route_class=JsonRoute)
_Share = Annotated[str, Path(examples=["share-4hd8k2mz"])]


@router.post("/runs/{run_id}/shares", status_code=201, tags=["runs"])
async def share_run(
    run_id: str,
    body: ShareBody,
    request: Request,
    caller: RunWriter,
    session: Writing,
    once: Idempotent,
) -> NewShareAnswer:
    """Makes a link by which anybody may read this run. It is in this answer and nowhere else."""

    async def make() -> NewShareAnswer:
        return await _made(request, session, await runs.get(session, run_id), body, caller)

    return await once.create(session, caller, make, answer=NewShareAnswer, hide="url")


@router.get("/runs/{run_id}/shares", tags=["runs"])
async def list_shares(run_id: str, _caller: RunWriter, session: Reading) -> Listing[ShareAnswer]:
    """The links that still work, newest first, without their addresses."""
    return await _listed(session, await runs.get(session, run_id))


@router.delete("/runs/{run_id}/shares/{share_id}", status_code=204, tags=["runs"])
async def revoke_share(run_id: str, share_id: _Share, caller: RunWriter, session: Writing) -> None:
    """Ends a link at once."""
    run = await runs.get(session, run_id)
    await service.revoke(session, run, share_id, actor=caller.actor)


@router.post("/episodes/{episode_id}/shares", status_code=201, tags=["episodes"])
async def share_episode(
    episode_id: str,
    body: ShareBody,
    request: Request,
    caller: EpisodeWriter,
    session: Writing,
    once: Idempotent,
) -> NewShareAnswer:
    """Makes a link by which anybody may look through this episode. It is in this answer alone."""

    async def make() -> NewShareAnswer:
        episode = await episodes.get(session, episode_id)
        return await _made(request, session, episode, body, caller)

    return await once.create(session, caller, make, answer=NewShareAnswer, hide="url")


@router.get("/episodes/{episode_id}/shares", tags=["episodes"])
async def list_episode_shares(
    episode_id: str, _caller: EpisodeWriter, session: Reading
) -> Listing[ShareAnswer]:
    """The links that still work, newest first, without their addresses."""
    return await _listed(session, await episodes.get(session, episode_id))


@router.delete("/episodes/{episode_id}/shares/{share_id}", status_code=204, tags=["episodes"])
async def revoke_episode_share(
    episode_id: str, share_id: _Share, caller: EpisodeWriter, session: Writing
) -> None:
    """Ends a link at once."""
    episode = await episodes.get(session, episode_id)
    await service.revoke(session, episode, share_id, actor=caller.actor)


async def _made(
    request: Request, session: AsyncSession, shown: Shareable, body: ShareBody, caller: Principal
) -> NewShareAnswer:
    link, secret = await service.create(session, shown, actor=caller.actor, days=body.days)
    return NewShareAnswer.made(link, public_link(request, f"shared/{secret}"))


async def _listed(session: AsyncSession, shown: Shareable) -> Listing[ShareAnswer]:
    links = await service.list_open(session, shown)
    return Listing(items=[ShareAnswer.of(link) for link in links])
