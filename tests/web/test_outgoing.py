"""The page of outgoing hosts, in a browser without JavaScript."""

from collections.abc import Iterator

import httpx
import pytest
from fastapi import FastAPI

from app.outgoing.resolve import system_resolver
from tests.fakes.dns import FakeDns
from tests.web.html import Element, parse

PATH = "/settings/outgoing"


@pytest.fixture(autouse=True)
def dns(app: FastAPI) -> Iterator[None]:
    fake = FakeDns({"ray.internal": [["10.0.0.7"]], "api.example": [["8.8.8.8"]]})
    app.dependency_overrides[system_resolver] = lambda: fake
    yield
    app.dependency_overrides.clear()


async def show(client: httpx.AsyncClient) -> Element:
    answer = await client.get(PATH)
    assert answer.status_code == 200
    return parse(answer.text)


async def attempt(client: httpx.AsyncClient, address: str) -> Element:
    answer = await client.post(f"{PATH}/try", data={"address": address})
    assert answer.status_code == 200
    return parse(answer.text)


async def test_a_host_is_allowed_and_taken_away(client: httpx.AsyncClient) -> None:
    assert "No host yet" in (await show(client)).text
    body = {"host": "Ray.Internal", "reason": "the <b>team's</b> cluster"}
    answer = await client.post(PATH, data=body)
    assert (answer.status_code, answer.headers["location"]) == (303, PATH)
    page = await show(client)
    assert "Host allowed." in page.text
    row = page.one("row", "ray.internal")
    assert "the <b>team's</b> cluster" in row.text
    assert "admin" in row.text
    form = next(e for e in page.walk() if e.attributes.get("action", "").endswith("/remove"))
    assert (await client.post(form.attributes["action"])).status_code == 303
    page = await show(client)
    assert "taken off the list" in page.text
    assert page.all("row", "ray.internal") == []
    assert (await client.post(form.attributes["action"])).status_code == 404


async def test_what_cannot_be_allowed_stays_in_the_form(client: httpx.AsyncClient) -> None:
    answer = await client.post(PATH, data={"host": "0.0.0.0/0", "reason": "all of it"})
    assert answer.status_code == 422
    page = parse(answer.text)
    host, reason = page.labelled("Host"), page.labelled("Reason")
    assert host.attributes["value"] == "0.0.0.0/0"
    assert host.attributes["aria-invalid"] == "true"
    assert "too wide" in page.by_id(host.attributes["aria-describedby"].split()[0]).text
    assert reason.attributes["value"] == "all of it"
    assert "aria-invalid" not in reason.attributes


async def test_an_address_is_tried(client: httpx.AsyncClient) -> None:
    page = await attempt(client, "http://ray.internal:8265/?token=a")
    verdict = next(e for e in page.all("status") if "ray.internal" in e.text).text
    assert verdict.startswith("ray.internal:8265 is refused.")
    assert "an administrator can allow “ray.internal”" in verdict
    assert page.one("row", "10.0.0.7").text == "10.0.0.7 private refused –"
    await client.post(PATH, data={"host": "ray.internal", "reason": "ours"})
    page = await attempt(client, "http://ray.internal:8265")
    assert "ray.internal:8265 would be called." in page.text
    assert page.one("row", "10.0.0.7").text == "10.0.0.7 private allowed ray.internal"
    page = await attempt(client, "api.example")
    assert page.one("row", "8.8.8.8").text == "8.8.8.8 public allowed its kind"
    assert page.labelled("Address").attributes["value"] == "api.example"


@pytest.mark.parametrize("address", [" ", "https://" + "a" * 2_000])
async def test_nothing_to_try(client: httpx.AsyncClient, address: str) -> None:
    answer = await client.post(f"{PATH}/try", data={"address": address})
    assert answer.status_code == 422
    assert parse(answer.text).labelled("Address").attributes["aria-invalid"] == "true"


@pytest.mark.parametrize("address", ["https://u:hunter2@ray.internal", "https://nowhere.example"])
async def test_a_text_that_leads_nowhere(client: httpx.AsyncClient, address: str) -> None:
    answer = await client.post(f"{PATH}/try", data={"address": address})
    assert "is refused." in parse(answer.text).text
    assert "hunter2" not in answer.text


async def test_a_stranger_is_sent_to_sign_in(stranger: httpx.AsyncClient) -> None:
    for answer in (await stranger.get(PATH), await stranger.post(PATH, data={"host": "x"})):
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/sign-in")
