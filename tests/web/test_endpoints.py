"""The pages of endpoints, in a browser without JavaScript."""

from collections.abc import Iterator

import httpx
import pytest
from fastapi import FastAPI

from app.clock import utcnow
from app.db import Database
from app.endpoints import service
from app.models import Endpoint, EndpointStatus
from app.outgoing.resolve import system_resolver
from app.secrets.crypto import make_file
from app.settings import Settings
from app.web.filters import number
from tests.evaluations.factories import add_endpoint
from tests.fakes.dns import FakeDns
from tests.web.html import parse

KEY = "sk-Zx81kkLmPq-4hd8"
FORM = {"name": "Team's <b>vLLM", "base_url": "https://llm.example/v1", "key": KEY}


@pytest.fixture(autouse=True)
def dns(app: FastAPI, settings: Settings) -> Iterator[None]:
    settings.home.mkdir(parents=True, exist_ok=True)
    make_file(settings.secret_keys)
    answers = {"llm.example": [["8.8.8.8"]], "inner.example": [["10.0.0.7"]]}
    app.dependency_overrides[system_resolver] = lambda: FakeDns(answers)
    yield
    app.dependency_overrides.clear()


async def register(client: httpx.AsyncClient, **given: str) -> str:
    """The path of the new endpoint's page."""
    answer = await client.post("/endpoints", data=FORM | given)
    assert answer.status_code == 303
    return answer.headers["location"]


async def stored(database: Database, path: str) -> Endpoint:
    async with database.read() as session:
        return await service.get(session, path.rpartition("/")[2])


async def test_an_endpoint_is_registered_shown_and_removed(client: httpx.AsyncClient) -> None:
    assert "No endpoint yet" in (await client.get("/endpoints")).text
    path = await register(client)
    answer = await client.get(path)
    page = parse(answer.text)
    assert "Endpoint registered" in page.text
    assert FORM["name"] in page.one("heading", FORM["name"]).text
    assert "stored, never shown" in page.text
    assert KEY not in answer.text
    assert "checking" in page.text.lower()
    assert FORM["name"] in parse((await client.get("/endpoints")).text).text
    answer = await client.post(f"{path}/remove")
    assert (answer.status_code, answer.headers["location"]) == (303, "/endpoints")
    assert (await client.get(path)).status_code == 404


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": ""}, "Give a name"),
        ({"base_url": "https://inner.example/v1"}, "Outgoing hosts"),
        ({"base_url": "http://llm.example/v1"}, "must be called by https"),
        ({"base_url": ""}, "Give its address"),
        ({"base_url": "no address"}, "Only https:// and http://"),
        ({"key": "tiny-7k"}, "at least 8 characters"),
    ],
)
async def test_a_refused_form_keeps_its_values_but_for_the_key(
    client: httpx.AsyncClient, given: dict[str, str], said: str
) -> None:
    form = FORM | given
    answer = await client.post("/endpoints", data=form)
    assert answer.status_code == 422
    page = parse(answer.text)
    assert said in page.text
    values = [each.attributes.get("value") for each in page.walk() if each.tag == "input"]
    assert form["base_url"] in values
    assert form["key"] not in answer.text
    assert "type it once more" in page.text


async def test_what_is_wrong_in_all_fields_is_said_at_once(client: httpx.AsyncClient) -> None:
    answer = await client.post("/endpoints", data={"name": "", "base_url": "", "key": "tiny-7k"})
    assert answer.status_code == 422
    text = parse(answer.text).text
    assert "Give a name" in text
    assert "Give its address" in text
    assert "give the server a longer one" in text


async def test_a_key_is_kept_replaced_and_removed(
    client: httpx.AsyncClient, page_database: Database
) -> None:
    path = await register(client)
    before = (await stored(page_database, path)).secret_name
    form = {"name": "Renamed", "base_url": FORM["base_url"], "key_choice": "keep"}
    assert (await client.post(path, data=form)).status_code == 303
    assert (await stored(page_database, path)).secret_name == before
    answer = await client.post(path, data=form | {"key_choice": "replace"})
    assert answer.status_code == 422
    assert "Type the new key" in answer.text
    answer = await client.post(path, data=form | {"base_url": "https://8.8.4.4/v1"})
    assert answer.status_code == 422
    assert "Its key was given for llm.example" in parse(answer.text).text
    assert (await client.post(path, data=form | {"key_choice": "none"})).status_code == 303
    assert (await stored(page_database, path)).secret_name is None


async def test_checking_makes_it_due(client: httpx.AsyncClient, page_database: Database) -> None:
    path = await register(client)
    async with page_database.write() as session:
        (await service.get(session, path.rpartition("/")[2])).due_at = None
    assert (await client.post(f"{path}/check")).status_code == 303
    assert (await stored(page_database, path)).due_at is not None


async def test_models_and_a_command_are_shown(
    client: httpx.AsyncClient, page_database: Database
) -> None:
    async with page_database.write() as session:
        endpoint = await add_endpoint(session, "b'a\"se")
        adapter = {"id": "b:one", "parent": "b'a\"se", "max_model_len": None}
        endpoint.models = [*endpoint.models, adapter]
        endpoint.status, endpoint.message = EndpointStatus.UNREACHABLE, "Nobody answers at x."
        endpoint.latency_seconds, endpoint.observed_at = 0.123, utcnow()
    page = parse((await client.get("/endpoints/fake")).text)
    assert "as last listed" in page.text
    assert "Nobody answers at x." in page.text
    assert f"{number(6_000)} tokens" in page.text
    assert "adapter of" in page.text
    assert "123 ms" in page.text
    assert "curl http://127.0.0.1:1/v1/chat/completions" in page.text
    assert "'\"'\"'" in page.text


async def test_this_machines_endpoint_cannot_be_changed(
    client: httpx.AsyncClient, page_database: Database
) -> None:
    async with page_database.write() as session:
        await service.ensure_embedded(session)
    page = parse((await client.get("/endpoints/embedded")).text)
    assert "skydeck up" in page.text
    assert "Remove endpoint" not in page.text
    assert (await client.post("/endpoints/embedded/remove")).status_code == 409


async def test_a_tick_gets_the_fragment_alone(client: httpx.AsyncClient) -> None:
    path = await register(client)
    headers = {"HX-Request": "true", "HX-Request-Type": "partial"}
    for address in ("/endpoints", path):
        answer = await client.get(address, headers=headers)
        assert answer.status_code == 200
        assert "<html" not in answer.text
