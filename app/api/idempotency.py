"""Creation that may be repeated: the same `Idempotency-Key` gets the same answer."""

import hashlib
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Header, Request
from pydantic import BaseModel

from app.access.principal import Principal
from app.db import WriteSession
from app.errors import Conflict
from app.idempotency import service as keys

A = TypeVar("A", bound=BaseModel)
# To sort larger ones would cost more than to store what they hold.
_SORTED_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class Once:
    """One creation call: its key, if it has one, and the digest of what it asks for."""

    key: str | None
    digest: str

    async def create(
        self,
        session: WriteSession,
        caller: Principal,
        make: Callable[[], Awaitable[A]],
        *,
        answer: type[A],
        hide: str = "",
    ) -> A:
        """Calls `make` unless this key was used before; then gives the answer of that time.

        Key and object are stored in one transaction, so a crash keeps both or none. The field
        `hide` is left out of what is stored. Raises `Conflict` for a key with another body.
        """
        if self.key is None:
            return await make()
        if not await keys.claim(session, caller.key, self.key, self.digest):
            return answer.model_validate(await self._before(session, caller))
        made = await make()
        stored = made.model_dump(mode="json", by_alias=True, exclude={hide})
        await keys.store_answer(session, caller.key, self.key, stored)
        return made

    async def _before(self, session: WriteSession, caller: Principal) -> object:
        assert self.key is not None
        row = await keys.get(session, caller.key, self.key)
        if row.request_digest != self.digest:
            raise Conflict(
                f"Idempotency-Key {self.key!r} was used for another request: take a new key"
            )
        return row.answer


async def _once(
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            min_length=1,
            max_length=200,
            description="Repeating a call with the same key and body creates nothing again",
        ),
    ] = None,
) -> Once:
    if idempotency_key is None:
        return Once(None, "")
    return Once(idempotency_key, _digest(request, await request.body()))


def _digest(request: Request, body: bytes) -> str:
    if len(body) <= _SORTED_BYTES:
        with suppress(ValueError):
            # Sorted, so that a client whose maps have no order may repeat itself.
            body = json.dumps(json.loads(body), sort_keys=True).encode()
    parts = (request.method.encode(), request.url.path.encode(), body)
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


Idempotent = Annotated[Once, Depends(_once)]
