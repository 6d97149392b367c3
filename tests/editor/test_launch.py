"""What the editor's buttons do beyond showing: fixes, launches, versions; and what they refuse."""

import time

import httpx
import pytest
from sqlalchemy import select

from app.db import Database
from app.experiments import service as experiments
from app.models import Experiment
from app.recipes import service as recipes
from app.runs import service as runs
from tests.editor.forms import BATCH, MAZE, SKYRL, filled, opened, press, send
from tests.web.html import Element, parse

pytestmark = pytest.mark.usefixtures("seeded")
HOSTILE = '"><script>alert(1)</script>{{ 7*7 }}<img src=x onerror=alert(1)>'


def control(page: Element, name: str) -> Element:
    found = [each for each in page.walk() if each.attributes.get("name") == name]
    return found[-1]


async def test_a_fix_is_one_click_and_works_without_scripts(client: httpx.AsyncClient) -> None:
    page = await opened(client)
    answer = await press(client, page, "Check", trainer__train_batch_size="33")
    assert answer.status_code == 422
    page = parse(answer.text)
    errors = next(e for e in page.walk() if e.attributes.get("aria-label") == "Errors")
    finding = next(each for each in errors.all("listitem") if "33" in each.text)
    fix = finding.one("button", "Fix").attributes
    links = [link.attributes["href"] for link in finding.all("link")]
    assert f"#{control(page, BATCH).attributes['id']}" in links
    fixed = await send(client, fix["formaction"], [*filled(page), (fix["name"], fix["value"])])
    page = parse(fixed.text)
    assert control(page, BATCH).attributes["value"] != "33"
    assert not any("33 " in each.text for each in page.by_id("check").all("listitem"))
    assert "changed" in page.text


async def test_a_fix_on_the_yaml_view_keeps_its_comments(client: httpx.AsyncClient) -> None:
    page = await opened(client, f"/runs/new/yaml?recipe={SKYRL}")
    text = f"# why: memory\n{BATCH}: 33 # odd\n"
    page = parse((await press(client, page, "Check", yaml=text)).text)
    fix = page.by_id("check").all("button", "Fix")[0].attributes
    answer = await send(client, fix["formaction"], [*filled(page), (fix["name"], fix["value"])])
    after = dict(filled(parse(answer.text)))["yaml"]
    assert after.startswith("# why: memory\n")
    assert " # odd" in after
    assert "33" not in after


@pytest.mark.parametrize("text", ["", "[]", "{", '"x"', "[" * 9_000, "9" * 30_000])
async def test_a_made_up_fix_breaks_nothing(client: httpx.AsyncClient, text: str) -> None:
    page = await opened(client)
    answer = await send(client, "/runs/new", [*filled(page), ("set", text), ("do", "check")])
    assert answer.status_code == 422


async def test_the_embedded_cluster_refuses_what_needs_gpus_and_keeps_all(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    page = await opened(client)
    answer = await press(client, page, "Launch run", name="mine", trainer__epochs="7")
    assert answer.status_code == 422
    page = parse(answer.text)
    assert "Not launched" in page.one("alert").text
    cluster = page.labelled("Cluster")
    assert cluster.attributes["aria-invalid"] == "true"
    assert page.labelled("Run name").attributes["value"] == "mine"
    assert page.labelled("Epochs").attributes["value"] == "7"
    async with sqlite_database.read() as session:
        names = await session.scalars(select(Experiment.name))
    assert SKYRL not in set(names)


async def test_a_launch_from_the_yaml_view_runs_that_config(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    page = await opened(client, f"/runs/new/yaml?recipe={MAZE}")
    answer = await press(
        client, page, "Launch run", yaml="trainer: {seed: 9} # mine\n", experiment="from yaml"
    )
    assert answer.status_code == 303, answer.text
    async with sqlite_database.read() as session:
        run = await runs.get(session, answer.headers["Location"].removeprefix("/runs/"))
    assert run.config.values == recipes.get(MAZE).defaults() | {"trainer.seed": 9}


async def test_saving_makes_versions_and_launches_nothing(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    page = await opened(client)
    async with sqlite_database.read() as session:
        before = await runs.count(session, projects=None)
    urls = []
    for epochs in ("7", "8", "8"):
        answer = await press(
            client, page, "Save version", experiment="lr sweep", trainer__epochs=epochs
        )
        assert answer.status_code == 303, answer.text
        urls.append(answer.headers["Location"])
    assert len(set(urls)) == 1
    async with sqlite_database.read() as session:
        experiment = await experiments.get(session, urls[0].removeprefix("/experiments/"))
        newest = await experiments.newest_config(session, experiment)
        assert await runs.count(session, projects=None) == before
    assert newest is not None
    assert (newest.version, newest.values["trainer.epochs"]) == (2, 8)
    shown = await opened(client, f"/runs/new?from={experiment.slug}")
    assert shown.labelled("Epochs").attributes["value"] == "8"
    assert shown.labelled("Experiment").attributes["value"] == "lr sweep"
    assert "0 from version 2 of lr sweep" in shown.by_id("check").text


async def test_saving_what_is_wrong_is_refused(client: httpx.AsyncClient) -> None:
    page = await opened(client)
    answer = await press(client, page, "Save version", trainer__train_batch_size="33")
    assert answer.status_code == 422
    assert "Not saved" in parse(answer.text).one("alert").text


async def test_keys_beyond_the_form_come_back_with_the_version(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    page = await opened(client)
    rows = [("other_key", "trainer.algorithm.eps_clip_low"), ("other_value", "0.3")]
    pairs = [pair for pair in filled(page) if not pair[0].startswith("other_")]
    answer = await send(client, "/runs/new", [*pairs, *rows, ("do", "save")])
    assert answer.status_code == 303, answer.text
    slug = answer.headers["Location"].removeprefix("/experiments/")
    shown = await opened(client, f"/runs/new?from={slug}")
    assert dict(filled(shown))["trainer.epochs"] == "20"
    assert shown.by_id("other-1-key").attributes["value"] == "trainer.algorithm.eps_clip_low"
    assert shown.by_id("other-1-value").attributes["value"] == "0.3"


async def test_hostile_values_are_shown_as_text(client: httpx.AsyncClient) -> None:
    page = await opened(client)
    typed = {name: HOSTILE for name, _ in filled(page) if "." in name} | {
        "experiment": HOSTILE,
        "name": HOSTILE,
    }
    pairs = [(name, typed.get(name, text)) for name, text in filled(page)]
    pairs += [("other_key", HOSTILE), ("other_value", HOSTILE), (HOSTILE, HOSTILE)]
    for do, url in (
        ("launch", "/runs/new"),
        ("check", "/runs/new"),
        ("show", "/runs/new/yaml"),
        ("show", "/runs/new/changes"),
        ("show", "/runs/new/package"),
        ("", "/runs/new/check"),
    ):
        answer = await send(client, url, [*pairs, ("do", do)])
        assert answer.status_code in (200, 422), url
        assert "<script>alert" not in answer.text
        assert "<img src=x" not in answer.text
        assert "alert(1)" in answer.text
        assert "49" not in parse(answer.text).by_id("check").text if do else True


async def test_a_form_that_is_sent_twice_launches_one_run(client: httpx.AsyncClient) -> None:
    page = await opened(client, f"/runs/new?recipe={MAZE}")
    first, again = [await press(client, page, "Launch run", experiment="mine") for _ in range(2)]
    assert first.status_code == again.status_code == 303
    assert first.headers["Location"] == again.headers["Location"]
    assert "made once" in parse((await client.get(again.headers["Location"])).text).text
    other = await press(client, page, "Launch run", experiment="another")
    assert other.headers["Location"] != first.headers["Location"]
    page = await opened(client, f"/runs/new?recipe={MAZE}")
    later = await press(client, page, "Launch run", experiment="mine")
    assert later.headers["Location"] != first.headers["Location"]


async def test_enter_in_a_field_launches_nothing(client: httpx.AsyncClient) -> None:
    page = await opened(client)
    first = page.by_id("new-run").all("button")[0]
    assert first.attributes["value"] == "check"


async def test_typing_is_answered_quickly(client: httpx.AsyncClient) -> None:
    """The median of the server's own time is measured by `make bench`; this finds a slip."""
    pairs = [*filled(await opened(client)), ("other_key", "trainer.algorithm.eps_clip_low")]
    times = []
    for number in range(7):
        sent = [(k, str(30 + number) if k == BATCH else v) for k, v in pairs]
        before = time.perf_counter()
        assert (await send(client, "/runs/new/check", sent)).status_code == 200
        times.append(time.perf_counter() - before)
    assert sorted(times)[len(times) // 2] < 1


async def test_what_a_viewer_may_not_write_cannot_be_opened(stranger: httpx.AsyncClient) -> None:
    for url in ("/runs/new", "/runs/new/yaml", "/runs/new/import"):
        answer = await stranger.get(url)
        assert answer.status_code == 303
        assert answer.headers["Location"].startswith("/sign-in")
