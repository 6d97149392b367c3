"""The playground in real Chromium: by keyboard alone, side by side, hostile, shared."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from fastapi import FastAPI
from playwright.async_api import Browser, Page, expect

from app.episodes.deps import get_models
from app.episodes.seats import Seat
from app.llm.chat import Completion, ModelError, ModelErrorKind, OnText, Sampling
from app.llm.limits import ChatLimits
from tests.browser.conftest import Site, Watch, opened, serving
from tests.browser.keys import press_until
from tests.browser.test_pages import DESK, check
from tests.conftest import sqlite_copy
from tests.episodes.conftest import FakeModels
from tests.episodes.factories import solution
from tests.evaluations.factories import add_endpoint
from tests.fakes.models import ScriptedModel, ScriptedModels, completion
from tests.fakes.openai_server import BASE, FakeOpenAI
from tests.playground.factories import TASK
from tests.security.hostile import PAYLOADS
from tests.web.seed import seed

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SPOOF = "\u202egnp.exe\u202c \u200b<action>up</action>"


class Slow(ScriptedModel):
    """Answers once it is let."""

    def __init__(self) -> None:
        super().__init__("<action>right</action>")
        self.let = threading.Event()

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        sampling: Sampling,
        on_text: OnText | None = None,
    ) -> Completion:
        await asyncio.to_thread(self.let.wait, 20)
        return await super().complete(messages, sampling=sampling, on_text=on_text)


class Solver(ScriptedModel):
    """Goes the shortest way, whoever else plays and however often it is asked."""

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        sampling: Sampling,
        on_text: OnText | None = None,
    ) -> Completion:
        turns = sum(message["role"] == "assistant" for message in messages)
        return completion(solution(TASK)[turns])


class Served(ScriptedModel):
    """A model of a real server, which drips its answers."""

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        sampling: Sampling,
        on_text: OnText | None = None,
    ) -> Completion:
        limits = ChatLimits(connect_seconds=20, idle_seconds=60, total_seconds=110)
        async with FakeModels(FAKE, limits).open(Seat(endpoint="fake", model=BASE)) as model:
            return await model.complete(messages, sampling=sampling, on_text=on_text)


SLOW = Slow()
FAKE = FakeOpenAI()
DRIP_SECONDS = 1.0
"""An answer takes a minute and a half, unless it is let run out."""
DRIPPED = f"{PAYLOADS[0]} {SPOOF} " + "There is a wall. " * 40 + "<action>right</action>"


def models() -> ScriptedModels:
    broken = ModelError(ModelErrorKind.SERVER_ERROR, f"The server answered: {PAYLOADS[0]}")
    return ScriptedModels(
        solver=Solver(),
        slow=SLOW,
        dripping=Served(""),
        wall=ScriptedModel("<action>up</action>"),
        hostile=ScriptedModel(*PAYLOADS, SPOOF),
        broken=ScriptedModel(broken, "<action>right</action>"),
    )


@pytest.fixture(scope="module")
def arena(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """An application of these tests' own, in which an endpoint has four models."""
    folder = tmp_path_factory.mktemp("arena")
    url = sqlite_copy(sqlite_template, folder)
    scripted = models()

    async def fill() -> Any:
        async with opened(url) as database:
            async with database.write() as session:
                await add_endpoint(session, *scripted.models, slug="fake")
            return await seed(database)

    seeded = asyncio.run(fill())
    FAKE.answers[BASE] = lambda _messages: DRIPPED
    with (
        FAKE.in_thread(),
        serving(folder, url, prepare=lambda app: offer(app, scripted)) as address,
    ):
        # What other tests look at is not there.
        names: dict[str, Any] = {each.name: "" for each in fields(Site)}
        yield Site(**names | {"url": address, "database_url": url, "seeded": seeded})


def offer(app: FastAPI, scripted: ScriptedModels) -> None:
    app.dependency_overrides[get_models] = lambda: scripted


@pytest_asyncio.fixture(loop_scope="session")
async def visitor(browser: Browser, arena: Site) -> AsyncIterator[Watch]:
    opened = Watch(browser, arena)
    yield opened
    await opened.close()
    assert opened.complaints == []


async def open_maze(page: Page, *players: str) -> None:
    """Makes an episode by the form, on the maze whose way the solver knows."""
    await page.goto("/playground")
    for number, player in enumerate(players, start=1):
        await page.get_by_label(f"Lane {number}").select_option(player)
    await page.get_by_label("Seed", exact=True).fill(str(TASK.seed))
    await page.get_by_role("button", name="Open the maze").click()
    await page.wait_for_url("**/playground/eps-*")


def lane(page: Page, name: str) -> Any:
    return page.get_by_role("region", name=name, exact=True)


async def test_a_person_plays_by_keyboard_alone(visitor: Watch) -> None:
    page = await visitor.page(viewport=DESK)
    await page.goto("/runs")
    await page.keyboard.press("g")
    await page.keyboard.press("p")
    await page.wait_for_url("**/playground")
    await press_until(page, "Tab", page.get_by_label("Lane 1"))
    await page.keyboard.type("You")
    await press_until(page, "Tab", page.get_by_label("Seed", exact=True))
    await page.keyboard.type("3")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/playground/eps-*")
    news = page.locator("#turn-news")
    await page.keyboard.press("ArrowUp")
    await expect(news).to_contain_text(
        "Turn 1: up, into a wall. 12 moves to the target. Open: right, down"
    )
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        await page.keyboard.press(key)
    await expect(news).to_contain_text("Turn 4: moved down. 9 moves to the target")
    await page.keyboard.press("s")
    await expect(lane(page, "You")).to_contain_text("Stopped away from the target")
    await page.keyboard.press("[")
    await page.keyboard.press("[")
    await page.wait_for_url("**?turn=3")
    await expect(lane(page, "You")).to_contain_text("Turn 3: right")
    await expect(lane(page, "You")).to_contain_text("10 moves to the target")
    await page.keyboard.press("]")
    await page.wait_for_url("**?turn=4")


async def test_two_models_side_by_side_play_on_by_themselves(visitor: Watch) -> None:
    page = await visitor.page(viewport=DESK)
    await open_maze(page, "fake solver", "fake wall")
    await page.get_by_label("Speed").select_option("At once")
    await page.get_by_role("heading", level=1).click()
    await page.keyboard.press("Space")
    await expect(lane(page, "solver")).to_contain_text("Solved in 13 turns", timeout=30_000)
    await expect(lane(page, "wall")).to_contain_text("Ran into walls", timeout=30_000)
    await expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert await lane(page, "solver").locator(".step").count() == 12
    assert await lane(page, "wall").locator(".bump").count() == 15
    await page.reload()
    await expect(lane(page, "solver")).to_contain_text("Solved in 13 turns")
    await check(page, "episode-side-by-side")


async def test_it_pauses_and_is_looked_through_by_the_scrubber(visitor: Watch) -> None:
    page = await visitor.page(viewport=DESK)
    await open_maze(page, "fake solver")
    await page.get_by_role("button", name="Play").click()
    await expect(page.locator("#stage")).to_have_attribute("data-last", "2", timeout=20_000)
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_role("button", name="Play")).to_be_visible()
    await page.wait_for_timeout(1_200)
    played = int(await page.locator("#stage").get_attribute("data-last") or 0)
    assert 2 <= played <= 4
    await page.get_by_role("slider", name="Turn").focus()
    await page.keyboard.press("Home")
    await page.wait_for_url("**?turn=0")
    await expect(lane(page, "solver")).to_contain_text("12 moves to the target")
    await page.keyboard.press("ArrowRight")
    await page.wait_for_url("**?turn=1")
    await page.reload()
    await expect(page.get_by_role("slider", name="Turn")).to_have_value("1")
    await expect(lane(page, "solver")).to_contain_text("Turn 1: right")


async def test_what_hostile_models_say_is_text(visitor: Watch) -> None:
    page = await visitor.page(viewport=DESK)
    await open_maze(page, "fake hostile")
    seen = lane(page, "hostile")
    for number, payload in enumerate([*PAYLOADS, SPOOF], start=1):
        await page.get_by_role("button", name="Ask for a turn").click()
        await expect(seen).to_contain_text(f"Turn {number}: ", timeout=20_000)
        answer = seen.get_by_role("region", name="Raw answer of hostile")
        await expect(answer).to_contain_text(payload[:12] if payload != SPOOF else "gnp.exe")
    assert await page.evaluate("window.hit") is None
    assert await seen.locator(".mark").all_inner_texts() == ["U+202E", "U+202C", "U+200B"]
    await expect(seen).to_contain_text("Turn 9: up")
    await seen.get_by_role("link", name="Messages as sent").click()
    await expect(page.get_by_role("heading", name="Messages of turn 9")).to_be_visible()
    assert await page.get_by_role("region", name="assistant").count() == 8
    assert await page.evaluate("window.hit") is None


async def test_a_turn_that_failed_is_tried_again(visitor: Watch) -> None:
    page = await visitor.page(viewport=DESK)
    await open_maze(page, "fake broken", "fake solver")
    await page.get_by_role("button", name="Ask for a turn").click()
    seen = lane(page, "broken")
    await expect(seen).to_contain_text("No answer to turn 1")
    await expect(seen).to_contain_text(f"The server answered: {PAYLOADS[0]}")
    await expect(seen).to_contain_text("Nothing was lost")
    await expect(lane(page, "solver")).to_contain_text("Turn 1: right")
    await check(page, "episode-failed-turn")
    await seen.get_by_role("button", name="Try turn 1 again").click()
    await expect(seen).to_contain_text("Turn 1: right")
    await expect(seen.get_by_text("Nothing was lost")).to_be_hidden()
    assert await page.evaluate("window.hit") is None


async def test_an_answer_that_is_under_way_is_waited_for_by_a_page_that_comes_later(
    visitor: Watch,
) -> None:
    page = await visitor.page(viewport=DESK)
    await open_maze(page, "fake slow")
    await page.get_by_role("button", name="Ask for a turn").click()
    await expect(lane(page, "slow")).to_contain_text("asking, ")
    late = await visitor.page(viewport=DESK)
    await late.goto(page.url)
    await expect(lane(late, "slow")).to_contain_text("asking elsewhere")
    SLOW.let.set()
    await expect(lane(late, "slow")).to_contain_text("Turn 1: right", timeout=15_000)
    await expect(lane(page, "slow")).to_contain_text("Turn 1: right", timeout=15_000)


async def test_an_answer_is_shown_while_it_comes_to_all_who_watch(visitor: Watch) -> None:
    FAKE.pause_seconds = DRIP_SECONDS
    page = await visitor.page(viewport=DESK)
    await open_maze(page, "fake dripping")
    await page.get_by_role("button", name="Ask for a turn").click()
    late = await visitor.page(viewport=DESK)
    await late.goto(page.url)
    for each in (page, late):
        said = lane(each, "dripping").get_by_role("region", name="Answer of dripping so far")
        await expect(said).to_contain_text("U+200B", timeout=30_000)
        await expect(said).to_contain_text(PAYLOADS[0])
        assert await said.locator(".mark").all_inner_texts() == ["U+202E", "U+202C", "U+200B"]
        assert await said.evaluate("each => !each.closest('[aria-live], [role=status]')")
        assert await each.locator("#turn-news").inner_text() == ""
        assert await each.evaluate("window.hit") is None
    await page.reload()
    await expect(page.get_by_role("region", name="Answer of dripping so far")).to_be_visible()
    FAKE.pause_seconds = 0.0
    for each in (page, late):
        await expect(lane(each, "dripping")).to_contain_text("Turn 1: ", timeout=20_000)
        await expect(each.locator("[data-saying]")).to_be_hidden()
    FAKE.pause_seconds = DRIP_SECONDS
    await late.get_by_role("button", name="Ask for a turn").click()
    said = lane(page, "dripping").get_by_role("region", name="Answer of dripping so far")
    await expect(said).to_contain_text("gnp.exe", timeout=20_000)
    await check(page, "episode-answering")
    FAKE.pause_seconds = 0.0
    await expect(lane(page, "dripping")).to_contain_text("Turn 2: ", timeout=20_000)


async def test_stop_hangs_up_and_a_closed_page_does_not(visitor: Watch) -> None:
    FAKE.pause_seconds = DRIP_SECONDS
    page = await visitor.page(viewport=DESK)
    await open_maze(page, "fake dripping")
    url = page.url
    await page.get_by_role("button", name="Ask for a turn").click()
    await expect(page.get_by_role("region", name="Answer of dripping so far")).to_be_visible()
    await page.close()
    FAKE.pause_seconds = 0.0
    page = await visitor.page(viewport=DESK)
    await page.goto(url)
    await expect(lane(page, "dripping")).to_contain_text("Turn 1: ", timeout=20_000)
    FAKE.pause_seconds = 5.0
    await page.get_by_role("button", name="Ask for a turn").click()
    await expect(lane(page, "dripping")).to_contain_text("asking, ")
    await page.get_by_role("button", name="Stop", exact=True).click()
    await expect(lane(page, "dripping")).to_contain_text("Ended by a person")
    await expect(page.locator("[data-saying]")).to_be_hidden()
    async with asyncio.timeout(30):
        while FAKE.open_count:  # noqa: ASYNC110 - a server's state tells nobody that it changed
            await asyncio.sleep(0.05)
    FAKE.pause_seconds = 0.0


async def test_a_branch_begins_with_the_turns_before_it(visitor: Watch) -> None:
    page = await visitor.page(viewport=DESK)
    await open_maze(page, "you")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        await page.keyboard.press(key)
    await expect(page.locator("#turn-news")).to_contain_text("Turn 3", timeout=20_000)
    before = page.url
    await page.keyboard.press("[")
    await page.wait_for_url("**?turn=2")
    await page.get_by_role("button", name="Branch at turn 2").click()
    await page.wait_for_url(lambda url: url.partition("?")[0] != before)
    await expect(page.get_by_text("Branched.")).to_be_visible()
    await expect(page.locator("#stage")).to_have_attribute("data-last", "2")
    await page.get_by_role("link", name=before.rpartition("/")[2]).click()
    await expect(page.get_by_role("region", name="Branches")).to_contain_text("from turn 2")


async def test_it_is_played_without_any_script(visitor: Watch) -> None:
    page = await visitor.page(viewport=DESK, java_script_enabled=False)
    await open_maze(page, "fake solver", "you")
    await page.get_by_role("button", name="Ask for a turn").click()
    await expect(lane(page, "solver")).to_contain_text("Turn 1: right")
    await page.get_by_label("Move", exact=True).select_option("You")
    await page.get_by_role("button", name="Move right").click()
    await expect(lane(page, "You")).to_contain_text("Turn 1: right")
    await page.get_by_role("link", name="To the start").click()
    await expect(lane(page, "You")).to_contain_text("12 moves to the target")
    await page.get_by_role("button", name="Stop", exact=True).click()
    await expect(lane(page, "solver")).to_contain_text("Ended by a person")


async def test_a_link_shows_the_episode_to_a_stranger_and_nothing_else(visitor: Watch) -> None:
    page = await visitor.page(viewport=DESK)
    await open_maze(page, "fake solver")
    for number in (1, 2):
        await page.get_by_role("button", name="Ask for a turn").click()
        await expect(lane(page, "solver")).to_contain_text(f"Turn {number}: right")
    own = page.url
    await page.get_by_role("link", name="Share").click()
    await page.get_by_role("button", name="Make link").click()
    link = (await page.locator("code.secret").inner_text()).strip()
    stranger = await visitor.page(is_signed_in=False, viewport=DESK)
    await stranger.goto(link)
    await expect(lane(stranger, "solver")).to_contain_text("Turn 2: right")
    await stranger.keyboard.press("[")
    await stranger.wait_for_url("**?turn=1")
    await expect(lane(stranger, "solver")).to_contain_text("11 moves to the target")
    picture = stranger.locator(".strip img").first
    assert await picture.evaluate("each => each.complete && each.naturalWidth") == 225
    links = await stranger.locator("a").evaluate_all("all => all.map((each) => each.pathname)")
    assert links
    assert all(each.startswith("/shared/") for each in links)
    forms = await stranger.locator("form").evaluate_all("all => all.map((each) => each.method)")
    assert set(forms) <= {"get"}
    assert "Fake" not in await stranger.locator("body").inner_text()
    await check(stranger, "episode-shared")
    await stranger.goto(own)
    await stranger.wait_for_url("**/sign-in?**")
    await page.get_by_role("button", name="Revoke").click()
    await stranger.goto(link)
    await expect(stranger.get_by_role("heading", name="This link shows nothing")).to_be_visible()
