"""Denied attempts, written into the audit log after they were answered.

After the answer, so that a refused object answers as fast as one that does not exist.
"""

import logging
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession
from starlette.types import ASGIApp, Receive, Scope, Send

from app.access.denial_limit import DenialLimit, Noted
from app.access.principal import Actor
from app.access.repository import ObjectKind, projects_of
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.db import Database
from app.models import AuditOutcome

SEPARATOR = ", "
"""Between the slugs of a target that stands for several objects."""
_KEY = "denial"
_SAME = ("method", "path", "needs")
_MORE = "more requests were denied in this minute than there are rows"
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Denial:
    """Who was refused what; `details` name the method, the path and the permission."""

    actor: Actor
    target: Target
    details: dict[str, Any]


def note(scope: Scope, denial: Denial) -> None:
    """Keeps the denial with its request until this is answered."""
    scope.setdefault("state", {})[_KEY] = denial


class DenialLog:
    """ASGI middleware: stores the denial that a request's guard noted.

    As often as the application's `state.denial_limit` says.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.app(scope, receive, send)
        finally:
            denial: Denial | None = scope.get("state", {}).get(_KEY)
            if denial is not None:
                state = scope["app"].state
                await _keep(state.database, state.denial_limit, denial)


async def _keep(database: Database, limit: DenialLimit, denial: Denial) -> None:
    asked = (denial.target, *(denial.details.get(each) for each in _SAME))
    noted = limit.take(denial.actor.key, asked)
    if noted is Noted.LAST:
        denial = replace(denial, details=denial.details | {"note": _MORE})
    if noted is not Noted.NO:
        await _store(database, denial)


async def _store(database: Database, denial: Denial) -> None:
    try:
        async with database.write() as session:
            audit.record(
                session,
                denial.actor,
                Action.ACCESS,
                await _placed(session, denial.target),
                outcome=AuditOutcome.DENIED,
                details=denial.details,
            )
    except Exception:
        # It was refused and answered; the service's log is what is left to tell it.
        _logger.exception("a denied attempt is not in the audit log", extra=denial.details)


async def _placed(session: AsyncSession, target: Target) -> Target:
    """The target with its project, whose administrators then see the attempt in their own log.

    Without one where the address named objects of several projects.
    """
    if target.kind not in set(ObjectKind):
        return target
    found = await projects_of(session, ObjectKind(target.kind), target.slug.split(SEPARATOR))
    places = set(found.values())
    return replace(target, project_id=places.pop()) if len(places) == 1 else target
