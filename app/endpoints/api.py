"""JSON API of endpoints."""

from typing import Annotated

from fastapi import Depends

from app.api.deps import Admin, Reader, Reading, Store
from app.api.idempotency import Idempotent
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.endpoints import service
from app.endpoints.schemas import EndpointAnswer, EndpointBody, EndpointChange, ModelAnswer
from app.outgoing.resolve import Resolver, system_resolver
from app.routing import Router

router = Router(tags=["endpoints"], route_class=JsonRoute)
Dns = Annotated[Resolver, Depends(system_resolver)]


@router.get("/endpoints")
async def list_endpoints(_caller: Reader, session: Reading) -> Listing[EndpointAnswer]:
    """Served models that everybody may talk with, as the worker last saw them."""
    rows = await service.list_all(session)
    return Listing(items=[EndpointAnswer.of(row) for row in rows])


@router.post("/endpoints", status_code=201)
async def register_endpoint(
    body: EndpointBody, caller: Admin, store: Store, resolver: Dns, once: Idempotent
) -> EndpointAnswer:
    """Registers an endpoint; the worker looks at it within a second."""
    service.require_plausible(name=body.name, base_url=body.base_url, key=body.key)
    await service.require_callable(store, resolver, body.base_url)
    async with store.write() as session:

        async def make() -> EndpointAnswer:
            return EndpointAnswer.of(
                await service.register(
                    session, caller.actor, name=body.name, base_url=body.base_url, key=body.key
                )
            )

        return await once.create(session, caller, make, answer=EndpointAnswer)


@router.get("/endpoints/{endpoint_id}")
async def get_endpoint(endpoint_id: str, _caller: Reader, session: Reading) -> EndpointAnswer:
    return EndpointAnswer.of(await service.get(session, endpoint_id))


@router.patch("/endpoints/{endpoint_id}")
async def change_endpoint(
    endpoint_id: str, body: EndpointChange, caller: Admin, store: Store, resolver: Dns
) -> EndpointAnswer:
    """Changes name, address or key. For another host the key is asked anew."""
    if body.base_url is not None:
        await service.require_callable(store, resolver, body.base_url)
    async with store.write() as session:
        endpoint = await service.get(session, endpoint_id)
        await service.change(
            session,
            endpoint,
            caller.actor,
            name=body.name,
            base_url=body.base_url,
            key=body.key,
        )
        return EndpointAnswer.of(endpoint)


@router.delete("/endpoints/{endpoint_id}", status_code=204)
async def remove_endpoint(endpoint_id: str, caller: Admin, store: Store) -> None:
    """Removes an endpoint and its key. What was played on it is kept."""
    async with store.write() as session:
        await service.remove(session, await service.get(session, endpoint_id), caller.actor)


@router.get("/endpoints/{endpoint_id}/models")
async def list_endpoint_models(
    endpoint_id: str, _caller: Reader, session: Reading
) -> Listing[ModelAnswer]:
    """Bases and adapters as the endpoint last listed them."""
    models = service.models_of(await service.get(session, endpoint_id))
    return Listing(items=[ModelAnswer.of(model) for model in models])


@router.post("/endpoints/{endpoint_id}/check", status_code=202)
async def check_endpoint(endpoint_id: str, _caller: Admin, store: Store) -> EndpointAnswer:
    """Has the worker look at it at once; `observed_at` says when it has."""
    async with store.write() as session:
        endpoint = await service.get(session, endpoint_id)
        await service.wake(session, endpoint.slug)
        return EndpointAnswer.of(endpoint)
