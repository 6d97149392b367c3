"""People of tests about accounts: made, signed in, and what links show them."""

import re

import httpx

from app.db import Database
from app.models import User
from app.users import service as users
from app.users.passwords import POOL
from app.web.deps import SESSION_COOKIE
from tests.users.people import PASSWORD, add_user
from tests.web.html import Element

HASH = POOL.hash_now(PASSWORD)
NEW = "another four words"


async def person(
    database: Database, name: str = "ada", *, is_admin: bool = False, has_password: bool = True
) -> User:
    user = await add_user(database, name, is_admin=is_admin)
    if has_password:
        async with database.write() as session:
            fresh = await users.get_user(session, user.id)
            await users.set_password(session, fresh, HASH)
    return user


async def cookie_of(database: Database, user: User) -> str:
    async with database.write() as session:
        return await users.create_session(session, user)


async def as_person(client: httpx.AsyncClient, database: Database, user: User) -> None:
    client.cookies.set(SESSION_COOKIE, await cookie_of(database, user), domain="skydeck.test")


def secret_on(page: Element) -> str:
    [shown] = [each.text for each in page.walk() if each.attributes.get("class") == "secret"]
    return shown


def path_of(link: str) -> str:
    return link.removeprefix("http://skydeck.test")


def token_of(link: str) -> str:
    return link.rpartition("token=")[2]


async def sign_in(client: httpx.AsyncClient, password: str = PASSWORD) -> httpx.Response:
    return await client.post(
        "/sign-in", data={"name": "ada", "password": password, "next": "/runs"}
    )


def revokes(page: Element, kind: str) -> list[str]:
    actions = [each.attributes.get("action", "") for each in page.walk()]
    return [each for each in actions if re.fullmatch(rf"/settings/{kind}/[^/]+/revoke", each)]
