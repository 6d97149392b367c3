"""What every route declares: the permission it needs, and the object its address names.

`app.api.deps` and `app.web.deps` make dependencies of it; a test finds one on each route.
"""

from dataclasses import dataclass

from fastapi import Request

from app.access import service
from app.access.permissions import Permission
from app.access.principal import Origin, Principal
from app.access.service import ObjectKind
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.db import Database
from app.errors import Forbidden, NotFound
from app.models import AuditOutcome

_ADDRESS_LENGTH = 64


@dataclass(frozen=True, slots=True)
class Guard:
    """`kind` says what the address names: its path parameter `<kind>_id` or `slug`, else its
    query parameter `<kind>`, which may be repeated or left out."""

    permission: Permission
    kind: ObjectKind | None = None

    def slugs(self, request: Request) -> list[str]:
        """The slugs of the objects that the request's address names."""
        if self.kind is None:
            return []
        path = request.path_params
        named = path.get(f"{self.kind}_id", path.get("slug"))
        return [named] if named is not None else request.query_params.getlist(self.kind)

    async def admit(self, request: Request, database: Database, principal: Principal) -> None:
        """Raises `Forbidden` or `NotFound`, and then writes the attempt into the audit log."""
        slugs = self.slugs(request)
        try:
            async with database.read() as session:
                await service.check(
                    session, principal, self.permission, kind=self.kind, slugs=slugs
                )
        except Forbidden:
            await self._record(request, database, principal, slugs)
            raise
        except NotFound as error:
            if error.is_hidden:
                await self._record(request, database, principal, slugs)
            raise

    async def _record(
        self, request: Request, database: Database, principal: Principal, slugs: list[str]
    ) -> None:
        target = Target(self.kind or "site", ", ".join(slugs))
        details = {"method": request.method, "path": request.url.path, "needs": self.permission}
        async with database.write() as session:
            audit.record(
                session,
                principal.actor,
                Action.ACCESS,
                target,
                outcome=AuditOutcome.DENIED,
                details=details,
            )


def origin_of(request: Request) -> Origin:
    """Where a request comes from, as the server saw it, and the id in its log line."""
    return Origin(
        address=request.client.host[:_ADDRESS_LENGTH] if request.client else "",
        request_id=getattr(request.state, "request_id", ""),
    )
