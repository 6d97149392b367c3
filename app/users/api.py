"""JSON API of API tokens."""

from typing import Annotated

from fastapi import APIRouter, Path

from app.api.deps import Admin, Reading, Writing
from app.api.idempotency import Idempotent
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.users import service
from app.users.schemas import NewTokenAnswer, TokenAnswer, TokenBody

router = APIRouter(tags=["administration"], route_class=JsonRoute)


@router.post("/tokens", status_code=201)
async def create_token(
    body: TokenBody, caller: Admin, session: Writing, once: Idempotent
) -> NewTokenAnswer:
    """Makes a token. Its secret is in this answer and nowhere else."""

    async def make() -> NewTokenAnswer:
        token, secret = await service.create_token(
            session, name=body.name, scope=body.scope, expires_at=body.expires_at
        )
        return NewTokenAnswer.made(token, secret)

    return await once.create(session, caller, make, answer=NewTokenAnswer, hide="token")


@router.get("/tokens")
async def list_tokens(_caller: Admin, session: Reading) -> Listing[TokenAnswer]:
    """All tokens that are not revoked, newest first, without their secrets."""
    rows = await service.list_tokens(session)
    return Listing(items=[TokenAnswer.of(row) for row in rows])


@router.delete("/tokens/{token_id}", status_code=204)
async def revoke_token(
    token_id: Annotated[str, Path(examples=["tok-4hd8k2mz"])], _caller: Admin, session: Writing
) -> None:
    """Ends a token at once."""
    await service.revoke_token(session, token_id)
