"""Clusters that people register: added, changed, removed, checked, and opened for the worker.

The secret half of a credential is one of the site's secrets, named after the cluster: encrypted,
never given back, and masked wherever a text holds it.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target as AuditTarget
from app.clock import utcnow
from app.clusters import repository
from app.clusters.registration import Registration, Wish, checked
from app.errors import Conflict, Invalid, NotFound, Problem, SkydeckError
from app.ids import new_id, new_slug
from app.k8s.point import EksCluster, KubePoint
from app.models import (
    CheckStatus,
    Cluster,
    ClusterCheck,
    ClusterKind,
    ClusterStatus,
    CredentialKind,
)
from app.ray.address import EmbeddedAddress, parse_address
from app.ray.target import Credential, Target
from app.runs import queue
from app.secrets import service as secrets

_NAME_LENGTH = 200
_KEPT = timedelta(days=30)
_FIELDS_OF_TEXTS = ("name", "address", "eks_cluster", "region", "role_arn", "access_key_id")


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """What a worker needs to call a cluster; `target` None for the embedded one.

    `trouble` says why its credential cannot be had.
    """

    id: UUID
    kind: ClusterKind
    address: str
    target: Target | None = field(default=None, repr=False)
    trouble: str = ""


async def create(session: AsyncSession, wish: Wish, *, actor: Actor) -> Cluster:
    """Raises `Invalid`, `KeyMissing`. The worker looks at it at once."""
    await _refuse_secrets(session, wish)
    found = checked(wish)
    now = utcnow()
    cluster = Cluster(
        id=new_id(),
        slug=new_slug("cluster"),
        status=ClusterStatus.STARTING,
        message="not looked at yet",
        details={},
        runs_member_code=False,
        shows_secrets=False,
        created_at=now,
        due_at=now,
    )
    _put(cluster, found)
    await _store(session, cluster, found.name)
    await _put_secret(session, cluster, found, actor)
    _record(session, actor, Action.CLUSTER_CREATE, cluster, after=_fields(cluster))
    return cluster


async def change(session: AsyncSession, cluster: Cluster, wish: Wish, *, actor: Actor) -> Cluster:
    """Raises `Invalid`, `KeyMissing`, and `Conflict` for the embedded cluster."""
    _require_registered(cluster)
    await _refuse_secrets(session, wish)
    found, before = checked(wish, cluster), _fields(cluster)
    _put(cluster, found)
    cluster.due_at = utcnow()
    await _store(session, cluster, found.name)
    is_new_secret = found.secret is not None
    await _put_secret(session, cluster, found, actor)
    after = _fields(cluster)
    if after != before or is_new_secret:
        details = {"secret": "replaced"} if found.secret else None
        _record(
            session, actor, Action.CLUSTER_CHANGE, cluster, before=before, after=after, more=details
        )
    return cluster


async def remove(session: AsyncSession, cluster: Cluster, *, actor: Actor) -> None:
    """Forgets its credential and takes it off all lists; its runs keep their history.

    Nothing on the cluster itself is touched. Raises `Conflict` while runs wait or run there.
    """
    _require_registered(cluster)
    load = (await queue.loads(session)).get(cluster.id, queue.ClusterLoad())
    busy = load.active_count + load.waiting_count
    if busy:
        count = "1 run waits or runs" if busy == 1 else f"{busy} runs wait or run"
        raise Conflict(f"{count} on {cluster.name}: stop them first, then remove the cluster")
    _record(session, actor, Action.CLUSTER_DELETE, cluster, before=_fields(cluster))
    await _forget_secret(session, cluster, actor)
    cluster.access, cluster.credential = {}, CredentialKind.NONE
    cluster.removed_at, cluster.due_at = utcnow(), None
    cluster.status, cluster.message = ClusterStatus.STOPPED, "removed from Skydeck"
    # Its name is free for another one.
    cluster.name = f"{cluster.name[: _NAME_LENGTH - 50]} (removed, {cluster.slug})"
    await session.flush()


async def access(session: AsyncSession, cluster: Cluster) -> ClusterAccess:
    """Opens the credential, for a worker. What is wrong with it is told in `trouble`."""
    if cluster.kind is ClusterKind.EMBEDDED:
        return ClusterAccess(cluster.id, cluster.kind, cluster.address)
    if cluster.removed_at is not None:
        trouble = f"{cluster.name} was removed from Skydeck. Add it again to go on."
        return ClusterAccess(cluster.id, cluster.kind, cluster.address, trouble=trouble)
    address = parse_address(cluster.address)
    assert not isinstance(address, EmbeddedAddress)
    try:
        credential = await _credential(session, cluster)
    except SkydeckError as error:
        trouble = f"The credential of {cluster.name} cannot be had: {error.message}"
        return ClusterAccess(cluster.id, cluster.kind, cluster.address, trouble=trouble)
    target = Target(address, credential, str(cluster.access.get("gateway_ca", "")))
    return ClusterAccess(cluster.id, cluster.kind, cluster.address, target)


async def ask_check(session: AsyncSession, cluster: Cluster, *, actor: Actor) -> ClusterCheck:
    """Asks the worker for a check; one that waits already is not asked for again."""
    _record(session, actor, Action.CLUSTER_CHECK, cluster)
    waiting = await repository.newest_check(session, cluster.id)
    if waiting is not None and waiting.status is CheckStatus.QUEUED:
        return waiting
    now = utcnow()
    await repository.forget_checks(session, cluster.id, now - _KEPT)
    check = ClusterCheck(
        id=new_id(),
        slug=new_slug("check"),
        cluster_id=cluster.id,
        status=CheckStatus.QUEUED,
        findings=[],
        asked_by=actor.name,
        created_at=now,
        due_at=now,
    )
    session.add(check)
    await session.flush()
    return check


async def get_check(session: AsyncSession, slug: str) -> tuple[ClusterCheck, Cluster]:
    """Raises `NotFound`."""
    found = await repository.find_check(session, slug)
    if found is None:
        raise NotFound(f"there is no check {slug}")
    return found


def proof_of(session: AsyncSession, check: str) -> str | None:
    """The answer to a check's probe, which nobody can give who lacks our keys; None without one."""
    found = secrets.derive(session, f"probe of {check}")
    return found[0] if found else None


async def newest_check(session: AsyncSession, cluster: Cluster) -> ClusterCheck | None:
    return await repository.newest_check(session, cluster.id)


def _require_registered(cluster: Cluster) -> None:
    if cluster.kind is ClusterKind.EMBEDDED:
        raise Conflict(
            "the embedded cluster is Skydeck's own: SKYDECK_EMBEDDED_CLUSTER=off turns it off"
        )


async def _refuse_secrets(session: AsyncSession, wish: Wish) -> None:
    # First of all: a message about a wrong value may quote it.
    texts = {name: getattr(wish, name) for name in _FIELDS_OF_TEXTS}
    await secrets.refuse_values(session, None, texts)


def _put(cluster: Cluster, found: Registration) -> None:
    cluster.name, cluster.kind, cluster.address = found.name, found.kind, found.address
    cluster.credential, cluster.access = found.credential, found.access
    cluster.max_running_runs = found.max_running_runs


async def _store(session: AsyncSession, cluster: Cluster, name: str) -> None:
    try:
        async with session.begin_nested():
            session.add(cluster)
    except IntegrityError:
        message = f"There is a cluster called {name} already: take another name."
        raise Invalid(message, [Problem("name", "taken", message)]) from None


async def _put_secret(
    session: AsyncSession, cluster: Cluster, found: Registration, actor: Actor
) -> None:
    if found.secret is None:
        return
    if not found.secret:
        await _forget_secret(session, cluster, actor)
        return
    name = cluster.slug.upper().replace("-", "_")
    try:
        await secrets.put(session, None, name, found.secret, actor=actor)
    except Invalid as error:
        is_file = found.credential is CredentialKind.KUBECONFIG
        field = "kubeconfig" if is_file else "secret"
        problems = [Problem(field, each.rule, each.message) for each in error.problems]
        raise Invalid(error.message, problems) from None
    cluster.secret_name = name
    await session.flush()


async def _forget_secret(session: AsyncSession, cluster: Cluster, actor: Actor) -> None:
    name, cluster.secret_name = cluster.secret_name, None
    if name is None:
        return
    try:
        await secrets.delete(session, None, name, actor=actor)
    except NotFound:
        return


async def _credential(session: AsyncSession, cluster: Cluster) -> Credential:
    """Raises `NotFound`, `KeyMissing`."""
    value, stored = "", cluster.access
    if cluster.secret_name is not None:
        value = await secrets.open_site_secret(session, cluster.secret_name)
    if cluster.credential is CredentialKind.TOKEN:
        return value
    if cluster.credential is CredentialKind.KUBECONFIG:
        return KubePoint(stored["server"], stored["ca"], value)
    if cluster.credential is CredentialKind.AWS:
        return EksCluster(
            stored["eks_cluster"],
            stored["region"],
            stored["role_arn"],
            stored["access_key_id"],
            value,
        )
    return None


def _record(
    session: AsyncSession,
    actor: Actor,
    action: Action,
    cluster: Cluster,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    more: dict[str, Any] | None = None,
) -> None:
    target = AuditTarget("cluster", cluster.slug)
    audit.record(session, actor, action, target, before=before, after=after, details=more)


def _fields(cluster: Cluster) -> dict[str, Any]:
    return {
        "name": cluster.name,
        "address": cluster.address,
        "credential": cluster.credential.value,
        "max_running_runs": cluster.max_running_runs,
        **cluster.access,
    }
