"""What every route declares: the permission it needs, and the object its address names.

`app.api.deps` and `app.web.deps` make dependencies of it; `app.access.coverage` refuses to start
with a route that has none.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fastapi import Request

from app.access import denials, service
from app.access.denials import Denial
from app.access.permissions import Permission
from app.access.principal import Origin, Principal
from app.access.service import ObjectKind
from app.audit.service import Target
from app.db import ReadSession
from app.errors import Forbidden, NotFound
from app.observability.masking import masked

_ADDRESS_LENGTH = 64
# Rows of the audit log stay for ever: whoever is denied must not choose how large they are.
_PATH_LENGTH = 500


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
        given = [named] if named is not None else request.query_params.getlist(self.kind)
        return [slug for slug in given if slug]

    async def check(self, request: Request, session: ReadSession, principal: Principal) -> None:
        """Raises `Forbidden` or `NotFound`."""
        await service.check(
            session, principal, self.permission, kind=self.kind, slugs=self.slugs(request)
        )

    async def refusal(
        self, request: Request, session: ReadSession, principal: Principal
    ) -> Forbidden | NotFound | None:
        """What `check` raises, to be raised when the session is given back; None: admitted."""
        try:
            await self.check(request, session, principal)
        except (Forbidden, NotFound) as error:
            return error
        return None

    @contextmanager
    def noting(self, request: Request, principal: Principal) -> Iterator[None]:
        """Notes for the audit log what is refused: by `check`, or by the route itself.

        A route refuses by `Principal.require` what only its body or query names.
        """
        try:
            yield
        except Forbidden:
            self._note(request, principal)
            raise
        except NotFound as error:
            if error.is_hidden:
                self._note(request, principal)
            raise

    def _note(self, request: Request, principal: Principal) -> None:
        slugs = self.slugs(request)
        kind = self.kind if self.kind and slugs else "site"
        target = Target(kind, denials.SEPARATOR.join(slugs))
        path = masked(request.url.path)[:_PATH_LENGTH]
        details = {"method": request.method, "path": path, "needs": self.permission}
        denials.note(request.scope, Denial(principal.actor, target, details))


def origin_of(request: Request) -> Origin:
    """Where a request comes from, as the server saw it, and the id in its log line."""
    return Origin(
        address=request.client.host[:_ADDRESS_LENGTH] if request.client else "",
        request_id=getattr(request.state, "request_id", ""),
    )
