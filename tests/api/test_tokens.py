"""Everybody's own tokens over the API, within their rights."""

import httpx
import pytest

from app.access.permissions import Scope
from app.db import Database
from app.models import Role, User
from app.users import service as users
from tests.api.helpers import V1, bearer, get, post, problem
from tests.users.people import add_project, add_user


async def use_token_of(
    client: httpx.AsyncClient, database: Database, user: User, scope: Scope = Scope.ADMIN
) -> None:
    async with database.write() as session:
        _, secret = await users.create_token(session, name="own", scope=scope, user=user)
    client.headers.update(bearer(secret))


@pytest.fixture
async def ada(database: Database) -> User:
    user = await add_user(database)
    await add_project(database, "maze", ada=Role.MEMBER)
    await add_project(database, "other")
    return user


async def test_a_member_makes_sees_and_ends_their_own(
    anyone: httpx.AsyncClient, database: Database, ada: User
) -> None:
    bob = await add_user(database, "bob")
    async with database.write() as session:
        others, _ = await users.create_token(session, name="b", scope=Scope.READ, user=bob)
    await use_token_of(anyone, database, ada)
    made = await post(anyone, "/tokens", {"name": "job", "scope": "write", "project": "maze"})
    assert (made["user"], made["project"], made["scope"]) == ("ada", "maze", "write")
    assert made["expires_at"]
    listed = (await get(anyone, "/tokens"))["items"]
    assert [each["name"] for each in listed] == ["job", "own"]
    problem(await anyone.delete(f"{V1}/tokens/{others.slug}"), 404)
    assert (await anyone.delete(f"{V1}/tokens/{made['id']}")).status_code == 204


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"scope": "admin"}, 403),
        ({"project": "other"}, 404),
        ({"project": "nothing"}, 404),
        ({"expires_at": "2099-01-01T00:00:00Z"}, 422),
    ],
)
async def test_what_a_member_may_not_make(
    anyone: httpx.AsyncClient, database: Database, ada: User, body: dict[str, str], status: int
) -> None:
    await use_token_of(anyone, database, ada)
    problem(await anyone.post(f"{V1}/tokens", json={"name": "x"} | body), status)


async def test_smaller_tokens_make_none(
    anyone: httpx.AsyncClient, database: Database, ada: User
) -> None:
    await use_token_of(anyone, database, ada, Scope.WRITE)
    problem(await anyone.post(f"{V1}/tokens", json={"name": "x", "scope": "read"}), 403)


async def test_a_token_of_one_project_makes_none(
    anyone: httpx.AsyncClient, admin: httpx.AsyncClient, ada: User
) -> None:
    made = await post(admin, "/tokens", {"name": "x", "scope": "admin", "project": "maze"})
    anyone.headers.update(bearer(made["token"]))
    problem(await anyone.post(f"{V1}/tokens", json={"name": "y", "scope": "read"}), 403)
