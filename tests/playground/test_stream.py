"""What models say while they say it: kept for those who watch, bounded, text only, then dropped."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from unittest.mock import patch

import httpx
import pytest
from fastapi import FastAPI
from fastapi.sse import ServerSentEvent

from app.episodes import turns
from app.episodes.deps import get_models
from app.playground import stream_routes
from app.playground.plain_text import MOST_CHARACTERS, MOST_MARKS
from app.playground.stream_routes import IDLE_LOOKS, EpisodeFollower
from app.playground.under_way import UnderWay
from tests.episodes.conftest import PATIENT, FakeModels
from tests.fakes.models import ScriptedModels
from tests.fakes.openai_server import BASE, FakeOpenAI
from tests.playground.test_pages import FORM, PARTIAL, opened
from tests.security.hostile import PAYLOADS

LANE = {"lane-1": f"fake {BASE}", "lane-2": ""}
LONG = "There is a wall. " * 20 + "<action>right</action>"


def shown(events: list[ServerSentEvent]) -> list[tuple[int, int, str]]:
    """(lane, start, text) of all words."""
    return [
        (words["lane"], words["start"], "".join(text for text, _ in words["pieces"]))
        for event in events
        if event.event == "words"
        for words in event.data["lanes"]
    ]


def names(events: list[ServerSentEvent]) -> list[str | None]:
    return [event.event for event in events]


async def test_each_reader_gets_all_of_it_in_pieces_and_is_told_when_it_is_done() -> None:
    texts = UnderWay()
    early = EpisodeFollower(texts, "eps-1")
    assert await early.look() == []
    with texts.asking("eps-1") as take:
        take(1, "I go ")
        take(2, "Wall")
        assert shown(await early.look()) == [(1, 0, "I go "), (2, 0, "Wall")]
        assert await early.look() == []
        take(1, "right")
        assert shown(await early.look()) == [(1, 5, "right")]
        late = EpisodeFollower(texts, "eps-1")
        assert shown(await late.look()) == [(1, 0, "I go right"), (2, 0, "Wall")]
        assert await EpisodeFollower(texts, "eps-2").look() == []
    assert names(await early.look()) == ["done"]
    with texts.asking("eps-1") as take:
        take(1, "Up")
        assert shown(await early.look()) == [(1, 0, "Up")]
        with texts.asking("eps-1"):
            assert await early.look() == []
        assert names(await early.look()) == ["done"]
        assert shown(await EpisodeFollower(texts, "eps-1").look()) == [(1, 0, "Up")]
    assert texts.of("eps-1") == {}


async def test_a_stream_ends_once_nothing_was_asked_for_a_while() -> None:
    texts = UnderWay()
    reader = EpisodeFollower(texts, "eps-1")
    with texts.asking("eps-1"):
        for _ in range(2 * IDLE_LOOKS):
            assert await reader.look() == []
    events = [event for _ in range(IDLE_LOOKS) for event in await reader.look()]
    assert names(events) == ["done"]
    assert names(await reader.look()) == ["end"]


@pytest.mark.parametrize("piece", [1, 7, 100_000])
async def test_what_is_kept_and_shown_is_bounded(piece: int) -> None:
    texts = UnderWay()
    long, hidden = "x" * 3 * MOST_CHARACTERS, "\u200b" * 2 * MOST_MARKS + "after"
    reader = EpisodeFollower(texts, "eps-1")
    found: dict[int, list[tuple[str, str]]] = {1: [], 2: []}
    more: dict[int, int] = {}
    with texts.asking("eps-1") as take:
        for lane, text in ((1, long), (2, hidden)):
            for at in range(0, len(text), piece):
                take(lane, text[at : at + piece])
                if at % (piece * 50) == 0:
                    await follow(reader, found, more)
        await follow(reader, found, more)
        kept = [
            len(said.text) for asked in texts.of("eps-1").values() for said in asked.lanes.values()
        ]
        assert kept == [MOST_CHARACTERS, len(hidden)]
    assert "".join(text for text, _ in found[1]) == "x" * MOST_CHARACTERS
    assert found[2] == [("U+200B", "zero width space")] * MOST_MARKS
    assert more == {1: 2 * MOST_CHARACTERS, 2: MOST_MARKS + len("after")}


async def follow(
    reader: EpisodeFollower, found: dict[int, list[tuple[str, str]]], more: dict[int, int]
) -> None:
    for event in await reader.look():
        for words in event.data["lanes"]:
            found[words["lane"]] += words["pieces"]
            more[words["lane"]] = words["more"]


@pytest.fixture
async def fake(app: FastAPI) -> AsyncIterator[FakeOpenAI]:
    """A server behind the pages, and streams that look often."""
    async with FakeOpenAI().serve() as served:
        app.dependency_overrides[get_models] = lambda: FakeModels(served, PATIENT)
        with patch.object(stream_routes, "PAUSE_SECONDS", 0.01):
            yield served
        del app.dependency_overrides[get_models]


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - a server's state tells nobody that it changed
            await asyncio.sleep(0.01)


def events_of(text: str) -> list[tuple[str, Any]]:
    """(name, data) of each event of a stream."""
    found = []
    for block in text.replace("\r", "").split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "event" in lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


async def ask(client: httpx.AsyncClient, url: str, **values: str) -> httpx.Response:
    return await client.post(f"{url}/turns", data={"do": "step"} | values, headers=PARTIAL)


async def test_a_stream_holds_the_words_of_a_real_answer(
    client: httpx.AsyncClient, fake: FakeOpenAI
) -> None:
    fake.pause_seconds = 0.01
    fake.answers[BASE] = lambda _messages: LONG
    url = await opened(client, **LANE)
    answer, stream = await asyncio.gather(ask(client, url), client.get(f"{url}/stream"))
    assert "Turn 1: right" in answer.text
    assert stream.headers["content-type"].startswith("text/event-stream")
    events = events_of(stream.text)
    lanes = [words for name, data in events if name == "words" for words in data["lanes"]]
    assert len(lanes) > 2
    assert LONG.startswith("".join(text for words in lanes for text, _ in words["pieces"]))
    assert [name for name, _ in events if name != "words"] == ["done", "end"]


async def test_hostile_words_stay_text(client: httpx.AsyncClient, fake: FakeOpenAI) -> None:
    fake.pause_seconds = 0.02
    fake.answers[BASE] = lambda _messages: "".join(PAYLOADS) + "\u202e \nevent: end\ndata: {}\n\n"
    url = await opened(client, **LANE)
    _, stream = await asyncio.gather(ask(client, url), client.get(f"{url}/stream"))
    events = events_of(stream.text)
    assert [name for name, _ in events if name != "words"] == ["done", "end"]
    assert "\u202e" not in stream.text


async def test_stop_hangs_up_on_the_endpoint(client: httpx.AsyncClient, fake: FakeOpenAI) -> None:
    fake.behave(BASE, "hang-inside")
    url = await opened(client, **LANE)
    with patch.object(turns, "LOOK_SECONDS", 0.01):
        asking = asyncio.create_task(ask(client, url))
        await until(lambda: fake.open_count)
        stopped = await ask(client, url, do="stop")
        assert "Ended by a person" in stopped.text
        await until(lambda: not fake.open_count)
        assert "Ended by a person" in (await asking).text


async def test_people_and_strangers(
    client: httpx.AsyncClient, app: FastAPI, models: ScriptedModels
) -> None:
    """A move streams nothing, and a shared page has no address to listen to."""
    url = await opened(client, **FORM)
    page = await client.get(url)
    assert f'data-stream="{url}/stream"' in page.text
    await client.post(f"{url}/turns", data={"do": "move", "move": "up", "lane": "2"})
    assert app.state.under_way.of(url.rpartition("/")[2]) == {}
    assert page.text.count("data-saying") == 1, "only models are listened to"
    made = await client.post(f"{url}/share", data={"life": "1 day"})
    path = made.text.partition("/shared/")[2].partition("<")[0]
    client.cookies.clear()
    assert "data-stream" not in (await client.get(f"/shared/{path}")).text
    answer = await client.get(f"{url}/stream", follow_redirects=False)
    assert answer.status_code in (302, 303, 401)
