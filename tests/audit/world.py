"""Two people before one application: an administrator, and somebody who may do nothing in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx

from app.access.permissions import Scope
from app.access.principal import Actor, Principal
from app.access.service import of_person
from app.clusters import service as clusters
from app.db import Database, WriteSession
from app.models import Project, User
from app.projects import service as projects
from app.users import service as users
from app.web.deps import SESSION_COOKIE
from tests.api.helpers import bearer

PASSWORD = "correct horse battery staple"


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who is signed in, and has a token."""

    user_id: UUID
    name: str
    session_secret: str
    token: str
    token_slug: str

    def headers(self, path: str) -> dict[str, str]:
        if path.startswith("/api/"):
            return bearer(self.token)
        return {"Cookie": f"{SESSION_COOKIE}={self.session_secret}"}

    @property
    def audit_keys(self) -> set[str]:
        """How the audit log may name them."""
        return {f"user:{self.user_id}", self.token_slug}


@dataclass(frozen=True, slots=True)
class World:
    """`project` is the slug of the project in which all happens."""

    database: Database
    client: httpx.AsyncClient
    admin: Caller
    outsider: Caller
    project: str

    async def ask(
        self, caller: Caller | None, method: str, path: str, body: Mapping[str, Any]
    ) -> httpx.Response:
        """The answer to a JSON body under `/api`, to a form elsewhere.

        Bytes among the values are a file: the whole body under `/api`, else a part of the form.
        """
        headers = dict(caller.headers(path)) if caller else {}
        file = {name: value for name, value in body.items() if isinstance(value, bytes)}
        if file and path.startswith("/api/"):
            headers["Content-Type"] = "application/zip"
            content = next(iter(file.values()))
            return await self.client.request(method, path, content=content, headers=headers)
        if path.startswith("/api/"):
            return await self.client.request(method, path, json=dict(body), headers=headers)
        texts = {name: value for name, value in body.items() if name not in file}
        return await self.client.request(
            method, path, data=texts, files=file or None, headers=headers
        )

    async def principal(self, session: WriteSession) -> Principal:
        """The administrator, for services that ask who makes something."""
        return of_person(await users.get_user(session, self.admin.user_id), ())

    @property
    def actor(self) -> Actor:
        return Actor(self.admin.name, f"user:{self.admin.user_id}")

    async def home(self, session: WriteSession) -> Project:
        return await projects.get(session, self.project)


async def make_world(database: Database, client: httpx.AsyncClient) -> World:
    async with database.write() as session:
        await clusters.ensure_embedded(session)
        project = await projects.ensure_default(session)
        admin = await _caller(session, await users.create_user(session, "root", is_admin=True))
        outsider = await _caller(session, await users.create_user(session, "mallory"))
    return World(database, client, admin, outsider, project.slug)


async def _caller(session: WriteSession, user: User) -> Caller:
    secret = await users.create_session(session, user)
    token, token_secret = await users.create_token(
        session, name=f"token of {user.name}", scope=Scope.ADMIN, user=user
    )
    return Caller(user.id, user.name, secret, token_secret, token.slug)
