"""The pages of secrets and of what a cluster may run, in a browser without JavaScript."""

import httpx
import pytest
from sqlalchemy import select

from app.clusters import service as clusters
from app.db import Database
from app.models import Secret
from app.projects import service as projects
from app.secrets.vault import vault_of
from app.settings import Settings
from tests.secrets.conftest import with_keys
from tests.web.html import Element, parse

VALUE = "hf_Zx81kkLmPq"
SITE, PROJECT = "/settings/secrets", "/projects/default/secrets"
CONSENTS = "/clusters/embedded/consents"


@pytest.fixture
async def client(
    client: httpx.AsyncClient, page_database: Database, settings: Settings
) -> httpx.AsyncClient:
    with_keys(page_database, settings.secret_keys)
    async with page_database.write() as session:
        await projects.ensure_default(session)
        await clusters.ensure_embedded(session)
    return client


async def show(client: httpx.AsyncClient, path: str) -> Element:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return parse(answer.text)


@pytest.mark.parametrize("path", [SITE, PROJECT])
async def test_a_secret_is_set_replaced_and_deleted(
    client: httpx.AsyncClient, page_database: Database, path: str
) -> None:
    assert "No secret yet" in (await show(client, path)).text
    answer = await client.post(path, data={"name": " HF_TOKEN ", "value": VALUE})
    assert (answer.status_code, answer.headers["location"]) == (303, path)
    page = await show(client, path)
    assert "Secret set." in page.text
    assert "admin" in page.one("row", "HF_TOKEN").text
    page = await show(client, f"{path}/HF_TOKEN")
    assert "never used" in page.text
    answer = await client.post(f"{path}/HF_TOKEN", data={"value": "line one\r\nline two"})
    assert answer.status_code == 303
    async with page_database.read() as session:
        row = (await session.scalars(select(Secret))).one()
        assert vault_of(session).open(row) == "line one\nline two"
    assert (await client.post(f"{path}/HF_TOKEN/delete")).status_code == 303
    assert "No secret yet" in (await show(client, path)).text
    assert (await client.post(f"{path}/HF_TOKEN/delete")).status_code == 404
    assert (await client.get(f"{path}/HF_TOKEN")).status_code == 404


async def test_what_is_refused_keeps_the_name_and_never_the_value(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.post(PROJECT, data={"name": "hf_token", "value": VALUE})
    assert answer.status_code == 422
    page = parse(answer.text)
    assert page.labelled("Name").attributes["value"] == "hf_token"
    assert page.labelled("Name").attributes["aria-invalid"] == "true"
    assert VALUE not in answer.text
    answer = await client.post(PROJECT, data={"name": "HF_TOKEN", "value": "tiny"})
    assert answer.status_code == 422
    assert parse(answer.text).labelled("Value").attributes["aria-invalid"] == "true"
    assert "tiny" not in answer.text


async def test_a_name_that_is_taken_leads_to_replace(client: httpx.AsyncClient) -> None:
    await client.post(PROJECT, data={"name": "HF_TOKEN", "value": VALUE})
    answer = await client.post(PROJECT, data={"name": "HF_TOKEN", "value": "another value"})
    assert answer.status_code == 422
    assert "HF_TOKEN is set already" in answer.text
    answer = await client.post(f"{PROJECT}/HF_TOKEN", data={"value": "tiny"})
    assert answer.status_code == 422
    assert "at least 8 characters" in answer.text


async def test_a_secret_that_was_typed_into_the_launch_form_is_not_shown_again(
    client: httpx.AsyncClient,
) -> None:
    await client.post(PROJECT, data={"name": "HF_TOKEN", "value": VALUE})
    typed = {"recipe": "embedded-maze-grpo", "trainer.seed": VALUE, "job.secrets": "HF_TOKE"}
    answer = await client.post("/runs/new", data=typed)
    assert answer.status_code == 422
    assert VALUE not in answer.text
    assert "***HF_TOKEN***" in answer.text
    del typed["trainer.seed"]
    answer = await client.post("/runs/new", data=typed)
    assert "Ray shows" in answer.text


async def test_what_a_cluster_may_run_is_allowed_with_its_name_typed(
    client: httpx.AsyncClient, page_database: Database
) -> None:
    assert "of built-in recipes only" in (await show(client, "/clusters")).text
    assert "as the user that runs Skydeck" in (await show(client, CONSENTS)).text
    wanted = {"runs_member_code": "true", "shows_secrets": "true", "confirm": "embedded?"}
    answer = await client.post(CONSENTS, data=wanted)
    assert answer.status_code == 422
    page = parse(answer.text)
    assert page.labelled("Cluster's name").attributes["aria-invalid"] == "true"
    boxes = [each for each in page.walk() if each.attributes.get("type") == "checkbox"]
    assert all("checked" in box.attributes for box in boxes)
    assert await consents(page_database) == (False, False)
    answer = await client.post(CONSENTS, data={**wanted, "confirm": "Embedded"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/clusters")
    assert await consents(page_database) == (True, True)
    text = (await show(client, "/clusters")).text
    assert "as Skydeck's own user" in text
    # To take back, nothing is typed.
    assert (await client.post(CONSENTS, data={"shows_secrets": "true"})).status_code == 303
    assert await consents(page_database) == (False, True)


async def consents(database: Database) -> tuple[bool, bool]:
    async with database.read() as session:
        found = await clusters.get(session, "embedded")
        return found.runs_member_code, found.shows_secrets
