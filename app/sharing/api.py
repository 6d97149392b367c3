"""JSON API of links that share a run."""

from typing import Annotated

from fastapi import Path, Request

from app.api.deps import Reading, RunWriter, Writing
from app.api.idempotency import Idempotent
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.routing import Router
from app.runs import service as runs
from app.sharing import service
from app.sharing.schemas import NewShareAnswer, ShareAnswer, ShareBody
from app.web.public_links import public_link

router = Router(tags=["runs"], route_class=JsonRoute)


@router.post("/runs/{run_id}/shares", status_code=201)
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
        run = await runs.get(session, run_id)
        link, secret = await service.create(session, run, actor=caller.actor, days=body.days)
        return NewShareAnswer.made(link, public_link(request, f"shared/{secret}"))

    return await once.create(session, caller, make, answer=NewShareAnswer, hide="url")


@router.get("/runs/{run_id}/shares")
async def list_shares(run_id: str, _caller: RunWriter, session: Reading) -> Listing[ShareAnswer]:
    """The links that still work, newest first, without their addresses."""
    links = await service.list_open(session, await runs.get(session, run_id))
    return Listing(items=[ShareAnswer.of(link) for link in links])


@router.delete("/runs/{run_id}/shares/{share_id}", status_code=204)
async def revoke_share(
    run_id: str,
    share_id: Annotated[str, Path(examples=["share-4hd8k2mz"])],
    caller: RunWriter,
    session: Writing,
) -> None:
    """Ends a link at once."""
    run = await runs.get(session, run_id)
    await service.revoke(session, run, share_id, actor=caller.actor)
