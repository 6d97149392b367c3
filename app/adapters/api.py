"""JSON API of adapters: promote a checkpoint, follow that, list what there is, delete."""

from typing import Annotated

from fastapi import Query

from app.adapters import service
from app.adapters.schemas import AdapterAnswer, PromoteBody, PromotionAnswer
from app.api.deps import (
    DEFAULT_LIMIT,
    AdapterReader,
    AdapterWriter,
    CheckpointWriter,
    IdCursor,
    Limit,
    PromotionReader,
    Reading,
    RunReader,
    Writing,
)
from app.api.idempotency import Idempotent
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.checkpoints import service as checkpoints
from app.projects import service as projects
from app.routing import Router
from app.runs import service as runs

router = Router(tags=["adapters"], route_class=JsonRoute)


@router.post("/checkpoints/{checkpoint_id}/promote", status_code=201)
async def promote_checkpoint(
    checkpoint_id: str,
    caller: CheckpointWriter,
    session: Writing,
    once: Idempotent,
    body: PromoteBody | None = None,
) -> PromotionAnswer:
    """Has its adapter copied to where an endpoint serves it. The same again: the same promotion.

    A worker does it: follow `GET /promotions/{id}`. A name that is in use answers 409 with one
    that is not.
    """
    wanted = body or PromoteBody()

    async def make() -> PromotionAnswer:
        promotion = await service.promote(
            session,
            await checkpoints.get(session, checkpoint_id),
            actor=caller.actor,
            name=wanted.adapter_name,
            destination=wanted.destination,
            endpoint=wanted.endpoint,
        )
        return PromotionAnswer.of(promotion)

    return await once.create(session, caller, make, answer=PromotionAnswer)


@router.get("/promotions/{promotion_id}")
async def get_promotion(
    promotion_id: str, _caller: PromotionReader, session: Reading
) -> PromotionAnswer:
    """How far it is; `error` says why it failed, or what its last try met."""
    return PromotionAnswer.of(await service.get_promotion(session, promotion_id))


@router.get("/adapters")
async def list_adapters(
    caller: RunReader,
    session: Reading,
    project: Annotated[str | None, Query(description="Only those of this project")] = None,
    run: Annotated[str | None, Query(description="Only those of this run")] = None,
    deleted: Annotated[bool, Query(description="Deleted ones, too")] = False,
    limit: Limit = DEFAULT_LIMIT,
    cursor: IdCursor = None,
) -> Listing[AdapterAnswer]:
    """Those of your projects, newest first."""
    page = await service.list_page(
        session,
        projects=await projects.narrow(session, caller, project),
        run=await runs.get(session, run) if run else None,
        with_deleted=deleted,
        limit=limit,
        cursor=cursor,
    )
    items = [AdapterAnswer.of(promotion) for promotion in page.items]
    return Listing(items=items, next_cursor=page.next_cursor)


@router.get("/adapters/{adapter_id}")
async def get_adapter(adapter_id: str, _caller: AdapterReader, session: Reading) -> AdapterAnswer:
    """An adapter with its lineage: run, attempt, step, config, evaluation."""
    adapter = await service.get(session, adapter_id)
    return AdapterAnswer.of(await service.promotion_of(session, adapter))


@router.delete("/adapters/{adapter_id}", status_code=204)
async def delete_adapter(adapter_id: str, caller: AdapterWriter, session: Writing) -> None:
    """Has its files moved aside. Its name is never used again."""
    await service.delete(session, await service.get(session, adapter_id), actor=caller.actor)
