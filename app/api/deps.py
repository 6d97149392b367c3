"""What API routes ask for: the caller, a session, a page of a list."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import AfterValidator

from app.access import service as access
from app.access import uses
from app.access.guard import Guard, origin_of
from app.access.permissions import Permission
from app.access.principal import Principal
from app.access.service import ObjectKind
from app.clock import utcnow
from app.db import Database, ReadSession, WriteSession
from app.errors import NotSignedIn
from app.models import ApiToken
from app.paging import MAX_LIMIT, decode_cursor
from app.settings import Settings
from app.users import service as users

_bearer = HTTPBearer(auto_error=False, description="A token of `skydeck token create`")
DEFAULT_LIMIT = 50
_CURSOR_LENGTH = 2_000


# Asynchronous, or each call would go through a thread of the pool.
async def get_database(request: Request) -> Database:
    database: Database = request.app.state.database
    return database


async def get_settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


Store = Annotated[Database, Depends(get_database)]
Config = Annotated[Settings, Depends(get_settings)]


@dataclass(frozen=True, slots=True)
class ApiGuard(Guard):
    """A route's guard, for callers with a bearer token."""

    async def __call__(
        self,
        request: Request,
        database: Store,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    ) -> AsyncIterator[Principal]:
        """Raises `NotSignedIn` without a valid token, else as `check` does."""
        if credentials is None:
            raise NotSignedIn("send the header `Authorization: Bearer <token>`")
        now = utcnow()
        async with database.read() as session:
            token, principal = await _known(request, session, credentials.credentials, now)
            refused = await self.refusal(request, session, principal)
        if uses.is_due(token.last_used_at, now):
            async with database.write() as writing:
                await users.touch_token(writing, token, now)
        with self.noting(request, principal):
            if refused is not None:
                raise refused
            yield principal


Reader = Annotated[Principal, Depends(ApiGuard(Permission.READ))]
"""Whoever is known. A list is narrowed to what they may read."""
Writer = Annotated[Principal, Depends(ApiGuard(Permission.WRITE))]
"""Who may write somewhere. The project that a body names is checked by the route."""
Admin = Annotated[Principal, Depends(ApiGuard(Permission.ADMINISTER))]
RunReader = Annotated[Principal, Depends(ApiGuard(Permission.READ, ObjectKind.RUN))]
RunWriter = Annotated[Principal, Depends(ApiGuard(Permission.WRITE, ObjectKind.RUN))]
ExperimentReader = Annotated[Principal, Depends(ApiGuard(Permission.READ, ObjectKind.EXPERIMENT))]
ExperimentWriter = Annotated[Principal, Depends(ApiGuard(Permission.WRITE, ObjectKind.EXPERIMENT))]
SweepReader = Annotated[Principal, Depends(ApiGuard(Permission.READ, ObjectKind.SWEEP))]
SweepWriter = Annotated[Principal, Depends(ApiGuard(Permission.WRITE, ObjectKind.SWEEP))]
CheckpointWriter = Annotated[Principal, Depends(ApiGuard(Permission.WRITE, ObjectKind.CHECKPOINT))]
PromotionReader = Annotated[Principal, Depends(ApiGuard(Permission.READ, ObjectKind.PROMOTION))]
AdapterReader = Annotated[Principal, Depends(ApiGuard(Permission.READ, ObjectKind.ADAPTER))]
AdapterWriter = Annotated[Principal, Depends(ApiGuard(Permission.WRITE, ObjectKind.ADAPTER))]
EvaluationReader = Annotated[Principal, Depends(ApiGuard(Permission.READ, ObjectKind.EVALUATION))]
EvaluationWriter = Annotated[Principal, Depends(ApiGuard(Permission.WRITE, ObjectKind.EVALUATION))]
ProjectReader = Annotated[Principal, Depends(ApiGuard(Permission.READ, ObjectKind.PROJECT))]
ProjectWriter = Annotated[Principal, Depends(ApiGuard(Permission.WRITE, ObjectKind.PROJECT))]
ProjectManager = Annotated[Principal, Depends(ApiGuard(Permission.MANAGE, ObjectKind.PROJECT))]
EpisodeReader = Annotated[Principal, Depends(ApiGuard(Permission.READ, ObjectKind.EPISODE))]
EpisodeWriter = Annotated[Principal, Depends(ApiGuard(Permission.WRITE, ObjectKind.EPISODE))]
CodeReader = Annotated[Principal, Depends(ApiGuard(Permission.READ, ObjectKind.CODE))]


async def _known(
    request: Request, session: ReadSession, secret: str, now: datetime
) -> tuple[ApiToken, Principal]:
    found = await users.find_token(session, secret, now)
    if found is None:
        raise NotSignedIn("this token is unknown, was revoked or is out of time")
    token, user = found
    return token, await access.of_token(session, token, user, origin_of(request))


async def _reading(database: Store) -> AsyncIterator[ReadSession]:
    async with database.read() as session:
        yield session


async def _writing(database: Store) -> AsyncIterator[WriteSession]:
    async with database.write() as session:
        yield session


# Scope "function": the commit happens before the answer is sent, so a failed one is no 200.
Reading = Annotated[ReadSession, Depends(_reading, scope="function")]
Writing = Annotated[WriteSession, Depends(_writing, scope="function")]


def _of_an_id(cursor: str) -> str:
    UUID(str(decode_cursor(cursor, 1)[0]))
    return cursor


Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Most items in the answer")]
Cursor = Annotated[
    str | None,
    Query(max_length=_CURSOR_LENGTH, description="`next_cursor` of the answer before"),
]
IdCursor = Annotated[Cursor, AfterValidator(lambda cursor: cursor and _of_an_id(cursor))]
"""A cursor of a list that is ordered by id alone."""
