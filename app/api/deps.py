"""What API routes ask for: the caller, a session, a page of a list."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import AfterValidator

from app.clock import utcnow
from app.db import Database, ReadSession, WriteSession
from app.errors import Forbidden, NotSignedIn
from app.paging import MAX_LIMIT, decode_cursor
from app.settings import Settings
from app.users import service as users
from app.users.service import Caller, Scope

_bearer = HTTPBearer(auto_error=False, description="A token of `skydeck token create`")
DEFAULT_LIMIT = 50
_CURSOR_LENGTH = 2_000


def get_database(request: Request) -> Database:
    database: Database = request.app.state.database
    return database


def get_settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


Store = Annotated[Database, Depends(get_database)]
Config = Annotated[Settings, Depends(get_settings)]


@dataclass(frozen=True, slots=True)
class Permission:
    """The dependency by which a route says what scope it needs; a test finds it on each route."""

    needed: Scope

    async def __call__(
        self,
        database: Store,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    ) -> Caller:
        """Raises `NotSignedIn` without a valid token, `Forbidden` if its scope is too small."""
        if credentials is None:
            raise NotSignedIn("send the header `Authorization: Bearer <token>`")
        caller = await _caller(database, credentials.credentials)
        if not caller.scope.allows(self.needed):
            raise Forbidden(f"this needs a token of scope {self.needed}, yours has {caller.scope}")
        return caller


Reader = Annotated[Caller, Depends(Permission(Scope.READ))]
Writer = Annotated[Caller, Depends(Permission(Scope.WRITE))]
Admin = Annotated[Caller, Depends(Permission(Scope.ADMIN))]


async def _caller(database: Database, secret: str) -> Caller:
    now = utcnow()
    async with database.read() as session:
        found = await users.find_caller(session, secret, now)
    if found is None:
        raise NotSignedIn("this token is unknown, was revoked or is out of time")
    caller, token = found
    if users.is_touch_due(token, now):
        async with database.write() as session:
            await users.touch_token(session, token, now)
    return caller


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
