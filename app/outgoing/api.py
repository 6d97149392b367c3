"""JSON API of the hosts that may be called."""

from typing import Annotated

from fastapi import Depends, Path

from app.api.deps import Admin, Reading, Store, Writing
from app.api.idempotency import Idempotent
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.outgoing import service
from app.outgoing.resolve import Resolver, system_resolver
from app.outgoing.schemas import CheckAnswer, CheckBody, HostAnswer, HostBody
from app.routing import Router

router = Router(tags=["administration"], route_class=JsonRoute)
Dns = Annotated[Resolver, Depends(system_resolver)]


@router.get("/outgoing-hosts")
async def list_outgoing_hosts(_caller: Admin, session: Reading) -> Listing[HostAnswer]:
    """Hosts that may be called although their address is not public, by name."""
    rows = await service.list_hosts(session)
    return Listing(items=[HostAnswer.of(row) for row in rows])


@router.post("/outgoing-hosts", status_code=201)
async def allow_outgoing_host(
    body: HostBody, caller: Admin, session: Writing, once: Idempotent
) -> HostAnswer:
    """Allows a host, from now on and for everybody's endpoints, webhooks and clusters."""

    async def make() -> HostAnswer:
        row = await service.allow(session, caller.actor, host=body.host, reason=body.reason)
        return HostAnswer.of(row)

    return await once.create(session, caller, make, answer=HostAnswer)


@router.delete("/outgoing-hosts/{host_id}", status_code=204)
async def refuse_outgoing_host(
    host_id: Annotated[str, Path(examples=["host-4hd8k2mz"])], caller: Admin, session: Writing
) -> None:
    """Takes a host off the list. Calls to it are refused within seconds."""
    await service.refuse(session, caller.actor, host_id)


@router.post("/outgoing-hosts/check")
async def check_outgoing_address(
    body: CheckBody, _caller: Admin, database: Store, resolver: Dns
) -> CheckAnswer:
    """Whether an address may be called, and why not. Asks DNS; the address itself is not called."""
    return CheckAnswer.of(await service.try_address(database, resolver, body.address))
