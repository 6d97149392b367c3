"""From a launched run to base and adapter side by side, in real Chromium, by keyboard alone.

One run serves all tests of this file: training it takes a minute.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from app.checkpoints.exports import CONFIG, WEIGHTS
from app.episodes.words import OUTCOMES
from app.logs.parsers.eval_dump import DumpedEpisode, parse_eval_dump
from tests.browser.conftest import ARTEFACTS
from tests.browser.keys import press, press_until, type_over
from tests.browser.test_pages import DESK, check
from tests.e2e.skydeck import Skydeck

pytestmark = [
    pytest.mark.browser,
    pytest.mark.ray,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.asyncio(loop_scope="session"),
]
# Enough for the adapter to solve mazes that its base does not: some 6 more of 64.
STEPS, EVERY = 16, 8
FIELDS = {
    "Run name": "by keyboard",
    "Training steps": str(STEPS),
    "Evaluate every": str(EVERY),
    "Checkpoint every": str(EVERY),
    "Export every": str(EVERY),
}
RUN_MS = 420_000
PLAY_MS = 120_000
PAGE_MS = 30_000


@dataclass(frozen=True, slots=True)
class Promoted:
    """A run that was launched and promoted by hand, on the page that says so."""

    page: Page
    run_id: str
    model: str
    step: int


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def page(browser: Browser) -> AsyncIterator[Page]:
    """What its pages raise or say to the console as an error fails the tests."""
    context = await browser.new_context(viewport=DESK, reduced_motion="reduce")
    opened = await context.new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda said: complaints.extend([said.text] * (said.type == "error")))
    opened.set_default_timeout(PAGE_MS)
    yield opened
    await context.close()
    assert complaints == []


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def promoted(skydeck: Skydeck, page: Page) -> Promoted:
    """The first page is opened by its address, every other one by keys."""
    link = await asyncio.to_thread(skydeck.run, "user", "link", "--url", skydeck.url)
    await page.goto(link)
    await press(page, "Sign in")
    await page.wait_for_url(lambda url: "sign-in" not in url)
    await page.keyboard.press("n")
    await page.wait_for_url("**/runs/new**")
    for label, text in FIELDS.items():
        await type_over(page, label, text)
    await press(page, "Launch run")
    await page.wait_for_url("**/runs/run-*")
    run_id = page.url.rpartition("/")[2]
    await expect(page.locator(".words")).to_contain_text("Succeeded", timeout=RUN_MS)
    await press(page, re.compile(r"Promote step \d+"))
    await page.wait_for_url("**/checkpoints/*/promote")
    await press(page, "Promote adapter")
    await page.wait_for_url("**/promotions/*")
    await expect(page.get_by_text("served by name")).to_be_visible(timeout=PLAY_MS)
    model = await page.locator("code", has_text="maze-base:").inner_text()
    return Promoted(page, run_id, model, int(model.rpartition("-s")[2]))


async def test_what_a_run_exports_is_found_promoted_and_served(
    skydeck: Skydeck, promoted: Promoted
) -> None:
    await asyncio.to_thread(check_promoted, skydeck, promoted)


async def test_the_adapter_solves_before_ones_eyes_what_its_base_does_not(
    skydeck: Skydeck, promoted: Promoted, browser: Browser
) -> None:
    page, home = promoted.page, skydeck.home
    base, adapter = only_the_adapter_solves(home, promoted)
    await press(page, FIELDS["Run name"])
    await page.wait_for_url(f"**/runs/{promoted.run_id}")
    await page.screenshot(path=ARTEFACTS / "serve-1-run.png")
    cell = page.get_by_role("link", name=f"Maze {adapter.seed}: solved in {adapter.turns} turns")
    await expect(cell).to_have_accessible_name(
        re.compile("not solved before training"), timeout=PAGE_MS
    )
    await press_until(page, "Tab", cell)
    await page.keyboard.press("Enter")
    counted = page.get_by_label("What the run counted").get_by_role("definition").first
    await expect(counted).to_have_text("solved", timeout=PAGE_MS)
    await check(page, "serve-2-rollout")
    await press(page, "Play base and adapter here")
    await page.wait_for_url("**/playground?**")
    assert await page.get_by_label("Lane 1").input_value() == "embedded maze-base"
    assert await page.get_by_label("Lane 2").input_value() == f"embedded {promoted.model}"
    await check(page, "serve-3-form")
    await press(page, "Open the maze")
    await page.wait_for_url("**/playground/eps-*")

    await press(page, "Play")
    lanes = [lane(page, "maze-base"), lane(page, promoted.model)]
    await expect(lanes[1]).to_contain_text(f"Solved in {adapter.turns} turns", timeout=PLAY_MS)
    ended = re.compile("|".join(words for words in OUTCOMES.values() if words != "Solved"))
    await expect(lanes[0].locator(".status")).to_have_text(ended, timeout=PLAY_MS)
    await expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    assert [await words_of(each) for each in lanes] == [actions(base), actions(adapter)]
    await check(page, "serve-4-side-by-side")

    other = await asyncio.to_thread(another_episode, skydeck)
    link = await share(page)
    await check_stranger(browser, skydeck.url, link, own=page.url.rpartition("/")[0], other=other)


async def share(page: Page) -> str:
    """The address of a link that shows the episode of this page."""
    await press(page, "Share")
    await page.wait_for_url("**/share")
    await press(page, "Make link")
    secret = page.locator("code.secret")
    await press_until(page, "Tab", secret)
    await check(page, "serve-5-link")
    return (await secret.inner_text()).strip()


async def check_stranger(browser: Browser, url: str, link: str, *, own: str, other: str) -> None:
    """Sees the shared episode, and of all the rest nothing: no page, no call, no picture."""
    context = await browser.new_context(viewport=DESK, base_url=url)
    page = await context.new_page()
    await page.goto(link)
    await expect(lane(page, "maze-base")).to_be_visible()
    await expect(page.locator(".lane")).to_have_count(2)
    picture = page.locator(".strip img").first
    assert await picture.evaluate("each => each.complete && each.naturalWidth") == 225
    await press_until(page, "Tab", page.get_by_role("link", name="Previous turn"))
    await page.keyboard.press("Enter")
    await page.wait_for_url("**?turn=*")
    await check(page, "serve-6-shared")
    linked = await page.locator("a").evaluate_all("all => all.map((each) => each.pathname)")
    assert all(each.startswith("/shared/") for each in linked)

    path = httpx.URL(link).path
    seen = await context.request.get(f"{path}/pictures/1/1.png")
    assert (seen.status, seen.headers["content-type"]) == (200, "image/png")
    slug = own.rpartition("/")[2]
    refused = {
        "/runs": 303,
        "/playground": 303,
        f"/playground/{slug}": 303,
        f"/playground/{slug}/export.json": 303,
        f"/playground/{slug}/pictures/1/1.png": 303,
        f"/playground/{other}/pictures/1/1.png": 303,
        f"/api/v1/episodes/{slug}": 401,
        f"/api/v1/episodes/{other}": 401,
        "/api/v1/runs": 401,
        f"{path}/pictures/3/1.png": 404,
        f"{path}/export.json": 404,
        f"{path}/messages": 404,
        f"/shared/{other}": 404,
        f"/shared/{other}/pictures/1/1.png": 404,
    }
    answers = {each: (await context.request.get(each, max_redirects=0)).status for each in refused}
    assert answers == refused
    posted = await context.request.post(f"{path}/turns", form={"do": "step"})
    assert posted.status in (404, 405)
    await context.close()


def check_promoted(skydeck: Skydeck, promoted: Promoted) -> None:
    """What the API, the folders and the endpoint say of what was done on the pages."""
    with skydeck.client() as client:
        found = list(client.list_checkpoints(promoted.run_id))
        places = {(each["kind"], each["step"]) for each in found}
        wanted = range(EVERY, STEPS + 1, EVERY)
        assert places == {(kind, step) for kind in ("adapter", "state") for step in wanted}
        assert all(each["complete"] and each["size_bytes"] for each in found), found
        assert all(each["solve_rate"] is not None and each["n"] == 64 for each in found)
        (best,) = (each for each in found if each["is_best_exportable"])
        assert client.find_export(promoted.run_id)["id"] == best["id"]
        # Asked for again, it is the promotion that there is.
        again = client.wait_promotion(client.promote(best["id"])["id"])
        assert (again["status"], again["model"]) == ("succeeded", promoted.model)
        (adapter,) = client.list_adapters(run=promoted.run_id)["items"]
        assert adapter["promotion_id"] == again["id"]
        assert adapter["evaluation"]["solve_rate"] == best["solve_rate"]
        assert adapter["step"] == best["step"] == promoted.step
    export = skydeck.home / "runs" / promoted.run_id / f"exports/global_step_{promoted.step}/policy"
    folder = skydeck.home / "adapters" / adapter["name"]
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == {
        name: (export / name).read_bytes() for name in (WEIGHTS, CONFIG)
    }
    assert promoted.model in served(skydeck.home)


def served(home: Path) -> list[str]:
    """The model ids that the endpoint names."""
    announced = json.loads((home / "endpoint.json").read_text())
    answer = httpx.get(
        f"{announced['base_url']}/models", headers={"Authorization": f"Bearer {announced['key']}"}
    )
    return [each["id"] for each in answer.json()["data"]]


def only_the_adapter_solves(home: Path, promoted: Promoted) -> tuple[DumpedEpisode, DumpedEpisode]:
    """A maze as the run's dumps have it: before training, and at the promoted step.

    It is solved at the last step, too, which is what the run's page shows.
    """
    dumps = [dumped(home, promoted.run_id, step) for step in (0, promoted.step, STEPS)]
    found = [
        (base, adapter)
        for base, adapter, last in zip(*dumps, strict=True)
        if adapter.is_solved and last.is_solved and not base.is_solved
    ]
    assert found, "training has gained no maze"
    return found[0]


def dumped(home: Path, run_id: str, step: int) -> list[DumpedEpisode]:
    folder = home / "runs" / run_id / "exports" / "dumped_evals" / f"global_step_{step}_evals"
    (file,) = (each for each in folder.iterdir() if each.name != "aggregated_results.jsonl")
    return parse_eval_dump(file.read_bytes()).episodes


def actions(episode: DumpedEpisode) -> list[str]:
    """What was done in a dumped episode, in the words of the page."""
    found = [re.fullmatch(r"<action>(\w+)</action>", each) for each in episode.said.answers]
    return [each[1] if each else "" for each in found]


async def words_of(lane: Locator) -> list[str]:
    """What was done in a lane, as its strip says it."""
    said = await lane.locator(".strip .sr").all_inner_texts()
    return [each.removeprefix(": ").partition(",")[0] for each in said]


def lane(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def another_episode(skydeck: Skydeck) -> str:
    """An episode that nobody has shared, with a turn in it."""
    headers = {"Authorization": f"Bearer {skydeck.token()}"}
    with httpx.Client(base_url=f"{skydeck.url}/api/v1", headers=headers, timeout=60) as api:
        lanes = [{"endpoint": "embedded", "model": "maze-base"}]
        made = api.post("/episodes", json={"lanes": lanes, "seed": 3}).raise_for_status().json()
        api.post(f"/episodes/{made['id']}/turns", json={}).raise_for_status()
        return str(made["id"])
