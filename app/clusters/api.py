"""JSON API of clusters."""

import re

from fastapi import Request

from app.api.deps import Admin, Reader, Reading, Writing
from app.api.idempotency import Idempotent
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.clusters import registry, service
from app.clusters.registration import wish_of
from app.clusters.schemas import (
    CheckAnswer,
    ClusterAnswer,
    ClusterBody,
    ClusterChange,
    ProbeAnswer,
)
from app.errors import NotSignedIn, Unavailable
from app.routing import Router

router = Router(tags=["clusters"], route_class=JsonRoute)
_CHECK = re.compile(r"Bearer (?P<id>check-[a-z0-9]{1,40})")


@router.get("/clusters")
async def list_clusters(_caller: Reader, session: Reading) -> Listing[ClusterAnswer]:
    """Clusters that runs may be submitted to, as the worker last saw them."""
    rows = await service.list_all(session)
    return Listing(items=[ClusterAnswer.of(row) for row in rows])


@router.get("/clusters/{cluster_id}")
async def get_cluster(cluster_id: str, _caller: Reader, session: Reading) -> ClusterAnswer:
    """One cluster, as the worker last saw it."""
    return ClusterAnswer.of(await service.get(session, cluster_id))


@router.post("/clusters", status_code=201)
async def add_cluster(
    body: ClusterBody, caller: Admin, session: Writing, once: Idempotent
) -> ClusterAnswer:
    """Registers a cluster. The worker looks at it at once; ask for a check to hear what works."""

    async def make() -> ClusterAnswer:
        cluster = await registry.create(session, body.wish(), actor=caller.actor)
        return ClusterAnswer.of(cluster)

    return await once.create(session, caller, make, answer=ClusterAnswer)


@router.patch("/clusters/{cluster_id}")
async def change_cluster(
    cluster_id: str, body: ClusterChange, caller: Admin, session: Writing
) -> ClusterAnswer:
    """Changes a cluster, or what it may run and be given; see `docs/security.md` for the latter."""
    cluster = await service.get(session, cluster_id)
    wish = body.wish(wish_of(cluster))
    if wish is not None:
        await registry.change(session, cluster, wish, actor=caller.actor)
    await service.set_consents(
        session,
        cluster,
        runs_member_code=body.runs_member_code,
        shows_secrets=body.shows_secrets,
        actor=caller.actor,
    )
    return ClusterAnswer.of(cluster)


@router.delete("/clusters/{cluster_id}", status_code=204)
async def remove_cluster(cluster_id: str, caller: Admin, session: Writing) -> None:
    """Takes a cluster off Skydeck; its runs keep their history. Refused while runs are on it."""
    cluster = await service.get(session, cluster_id)
    await registry.remove(session, cluster, actor=caller.actor)


@router.post("/clusters/{cluster_id}/check", status_code=202)
async def check_cluster(cluster_id: str, caller: Admin, session: Writing) -> CheckAnswer:
    """Has the worker check the connection; `GET /checks/{id}` tells what it found."""
    cluster = await service.get(session, cluster_id)
    check = await registry.ask_check(session, cluster, actor=caller.actor)
    return CheckAnswer.of(check, cluster)


@router.get("/probe")
async def answer_probe(request: Request, session: Reading) -> ProbeAnswer:
    """What a check's job asks from its cluster: only this service can answer it right.

    For everybody: it tells nothing of what there is here. The token is the id of the check.
    """
    check = _CHECK.fullmatch(request.headers.get("authorization", ""))
    if check is None:
        raise NotSignedIn("send the header `Authorization: Bearer <id of a check>`")
    proof = registry.proof_of(session, check["id"])
    if proof is None:
        raise Unavailable("this service has no key file, so it cannot prove who it is")
    return ProbeAnswer(proof=proof)


@router.get("/checks/{check_id}")
async def get_check(check_id: str, _caller: Admin, session: Reading) -> CheckAnswer:
    """What a check found; `status` is `queued` until the worker has looked."""
    return CheckAnswer.of(*await registry.get_check(session, check_id))
