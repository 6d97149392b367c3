"""JSON API of API tokens: everybody's own; administrators of the site see and end all."""

from typing import Annotated

from fastapi import Depends, Path

from app.access.permissions import Permission
from app.access.principal import Principal
from app.api.deps import ApiGuard, Reading, Writing
from app.api.idempotency import Idempotent
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.routing import Router
from app.users import service
from app.users.schemas import NewTokenAnswer, TokenAnswer, TokenBody

router = Router(tags=["administration"], route_class=JsonRoute)
Account = Annotated[Principal, Depends(ApiGuard(Permission.ACCOUNT))]


@router.post("/tokens", status_code=201)
async def create_token(
    body: TokenBody, caller: Account, session: Writing, once: Idempotent
) -> NewTokenAnswer:
    """Makes a token that may do no more than its maker. Its secret is in this answer only.

    Without `expires_at` it lasts 90 days; an administrator's of the site for ever.
    """

    async def make() -> NewTokenAnswer:
        token, secret = await service.make_token(
            session,
            caller,
            name=body.name,
            scope=body.scope,
            project=body.project,
            expires_at=body.expires_at,
        )
        entry = await service.get_token(session, token.slug, by=caller)
        return NewTokenAnswer.made(entry, secret)

    return await once.create(session, caller, make, answer=NewTokenAnswer, hide="token")


@router.get("/tokens")
async def list_tokens(caller: Account, session: Reading) -> Listing[TokenAnswer]:
    """One's own tokens that are not revoked, newest first, without their secrets."""
    entries = await service.list_tokens_of(session, caller)
    return Listing(items=[TokenAnswer.of(entry) for entry in entries])


@router.delete("/tokens/{token_id}", status_code=204)
async def revoke_token(
    token_id: Annotated[str, Path(examples=["tok-4hd8k2mz"])], caller: Account, session: Writing
) -> None:
    """Ends a token at once."""
    await service.revoke_token(session, token_id, by=caller)
