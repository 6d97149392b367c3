"""Small calls that many tests of the API make."""

from typing import Any

import httpx

from app.access.permissions import Scope
from app.db import Database
from app.users import service as users

V1 = "/api/v1"
RECIPE = "embedded-maze-grpo"


async def make_token(database: Database, scope: Scope, name: str = "ada") -> str:
    async with database.write() as session:
        _, secret = await users.create_token(session, name=name, scope=scope)
    return secret


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


async def post(client: httpx.AsyncClient, path: str, body: Any = None, **options: Any) -> Any:
    """The answer's JSON; the call must succeed."""
    answer = await client.post(V1 + path, json=body, **options)
    assert answer.is_success, answer.text
    return answer.json()


async def get(client: httpx.AsyncClient, path: str, **query: Any) -> Any:
    """The answer's JSON; the call must succeed."""
    answer = await client.get(V1 + path, params=query)
    assert answer.is_success, answer.text
    return answer.json()


async def make_experiment(client: httpx.AsyncClient, name: str = "Does rank matter?") -> Any:
    return await post(client, "/experiments", {"name": name, "recipe": RECIPE})


async def make_run(client: httpx.AsyncClient, **body: Any) -> Any:
    experiment = await make_experiment(client)
    return await post(client, f"/experiments/{experiment['id']}/runs", body)


async def make_external(client: httpx.AsyncClient, name: str = "outside", **body: Any) -> Any:
    return await post(client, "/runs/external", {"name": name} | body)


def problem(answer: httpx.Response, status: int) -> Any:
    """The body of an error answer, checked for its form."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert {"type", "title", "status", "detail", "errors"} <= body.keys()
    assert body["status"] == status
    assert body["detail"]
    return body
