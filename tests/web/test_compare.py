"""The pages of a comparison, as a reader without JavaScript sees them."""

import re
from urllib.parse import urlencode

import httpx
import pytest

from app.compare import service
from app.db import Database
from app.models import Run
from tests.compare.factories import add_evaluation, make_compared
from tests.queries import QueryCounter
from tests.web.html import parse

EVIL = '</script><img src=x onerror="alert(1)">'


def address(made: list[Run], path: str = "/compare", **more: str) -> str:
    pairs = [*(("run", run.slug) for run in made), *more.items()]
    return f"{path}?{urlencode(pairs)}"


@pytest.fixture
async def made(sqlite_database: Database) -> list[Run]:
    """Two settings with two seeds each, and one with a hostile name."""
    async with sqlite_database.write() as session:
        return [
            await make_compared(
                session,
                EVIL if n == 3 else f"run {n}",
                config={"trainer.lr": lr, "trainer.seed": seed, "same": 1},
                tags=["lora"],
                solved={0: range(20), 10: range(30 + 12 * (n > 1) + n)},
                series={"loss": [1.0, 0.5 - n / 10]},
            )
            for n, (lr, seed) in enumerate([(1e-6, 0), (1e-6, 1), (1e-5, 0), (1e-5, 1)])
        ]


async def test_two_runs_with_the_sentence_about_them(
    client: httpx.AsyncClient, made: list[Run]
) -> None:
    page = parse((await client.get(address([made[0], made[2]]))).text)

    assert "B solves 14 more of 64 mazes than A (14 gained, 0 lost); McNemar p < 0.001" in (
        page.one("note").text
    )
    assert "2 runs of grid, 1 config key differs" in page.one("main").text
    results = page.all("table")[0].all("row")
    assert results[1].text.count("30/64 · 46.9 % [35–59] step 10") == 2


@pytest.mark.parametrize("part", ["", "/statistics", "/mazes"])
async def test_no_per_cent_without_its_n(
    client: httpx.AsyncClient, made: list[Run], part: str
) -> None:
    text = parse((await client.get(address(made, f"/compare{part}"))).text).one("main").text
    assert " %" in text
    for with_n in (
        r"\d+/\d+ · [0-9.]+ % \[",
        r"[0-9.]+ % ± [0-9.]+ % \(n = \d+ runs\)( \[[0-9.]+ %, [0-9.]+ %\])?",
        r"\b95 % (of|by)|of 95 %|at 5 %",
    ):
        text = re.sub(with_n, "", text)

    assert re.findall(r".{30} %.{10}", text) == []


async def test_only_what_differs_is_shown_of_configs(
    client: httpx.AsyncClient, made: list[Run]
) -> None:
    page = parse((await client.get(address(made))).text)
    table = next(each for each in page.all("table") if each.attributes.get("class") == "differing")
    rows = [row.text for row in table.all("row")]

    assert rows[1:] == ["trainer.lr 1e-06 1e-06 1e-05 1e-05", "trainer.seed 0 1 0 1"]


async def test_groups_are_by_seed_where_seeds_differ(
    client: httpx.AsyncClient, made: list[Run]
) -> None:
    page = parse((await client.get(address(made, "/compare/statistics"))).text)
    groups = page.all("table")[0]

    assert groups.all("row")[1].text.startswith("lr 1e-06 A B 47.7 %")
    assert "47.7 % ± 1.1 % (n = 2 runs)" in groups.text
    assert "Spearman's rho" in page.one("main").text
    assert "by bootstrap" in page.one("main").text


async def test_the_statistics_come_as_a_part_or_as_a_page(
    client: httpx.AsyncClient, made: list[Run]
) -> None:
    whole = await client.get(address(made, "/compare/statistics"))
    headers = {"HX-Request": "true", "HX-Request-Type": "partial"}
    part = await client.get(address(made, "/compare/statistics"), headers=headers)

    assert "<html" in whole.text
    assert "<html" not in part.text
    assert parse((await client.get(address(made))).text).all("link", "rank correlations")


async def test_a_metric_is_chosen_and_one_that_nobody_has_is_empty(
    client: httpx.AsyncClient, made: list[Run]
) -> None:
    page = parse((await client.get(address(made, metric="loss", at="best"))).text)
    heads = [head.text for head in page.all("columnheader")]
    assert "loss, last" in heads
    assert (
        await client.get(address(made, metric="<b>", group="config:nothing"))
    ).status_code == 200
    kept = await client.get(address(made, metric="loss", at="nonsense"))
    assert kept.status_code == 200


async def test_the_best_of_many_comes_with_a_caution(
    client: httpx.AsyncClient, made: list[Run]
) -> None:
    best = await client.get(address(made, at="best"))
    last = await client.get(address(made))

    assert "better than its run by luck" in best.text
    assert "better than its run by luck" not in last.text


async def test_another_run_can_be_first(client: httpx.AsyncClient, made: list[Run]) -> None:
    page = parse((await client.get(address(made))).text)
    link = page.one("link", "Hold the others against run 2").attributes["href"]
    page = parse((await client.get(link)).text)
    chips = next(each for each in page.walk() if each.attributes.get("class") == "run-chips")

    assert chips.all("listitem")[0].text.startswith("A run 2")


@pytest.mark.parametrize("count", [0, 1])
async def test_too_few_runs_lead_to_a_choice(
    client: httpx.AsyncClient, made: list[Run], count: int
) -> None:
    answer = await client.get(address(made[:count]))
    page = parse(answer.text)

    assert answer.status_code == 200
    assert len(page.all("checkbox")) == 4
    assert ("One run is chosen" in answer.text) == (count == 1)


async def test_too_many_runs_are_explained(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    async with sqlite_database.write() as session:
        many = [await make_compared(session, f"r{n}") for n in range(101)]
    answer = await client.get(address(many))

    assert answer.status_code == 422
    assert "101 runs are chosen, and at most 100 can be compared" in answer.text
    assert len(parse(answer.text).all("checkbox")) >= 101
    assert (await client.get(address(many[:100]))).status_code == 200


async def test_runs_are_searched_for_and_those_chosen_stay(
    client: httpx.AsyncClient, made: list[Run]
) -> None:
    found = await client.get(address([made[0]], "/compare/runs", q="run 2", metric="loss"))
    page = parse(found.text)
    boxes = {box.attributes["value"]: "checked" in box.attributes for box in page.all("checkbox")}

    assert boxes == {made[0].slug: True, made[2].slug: False}
    assert 'name="metric" value="loss"' in found.text


async def test_all_checkpoints_of_one_run(client: httpx.AsyncClient, made: list[Run]) -> None:
    page = parse((await client.get(address([made[0]], "/compare/mazes"))).text)
    rows = page.all("table")[0].all("row")

    assert [row.text.split(" · ")[0] for row in rows[1:]] == [
        "A run 0 0 20/64",
        "A run 0 10 30/64",
    ]
    assert page.one("link", "Back to the run").attributes["href"] == f"/runs/{made[0].slug}"


async def test_a_long_run_keeps_its_first_and_last_checkpoint(
    client: httpx.AsyncClient, sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MAX_ROWS", 3)
    async with sqlite_database.write() as session:
        run = await make_compared(session, "long", solved={step: [1] for step in range(9)})
    page = parse((await client.get(address([run], "/compare/mazes"))).text)

    assert [row.text.split()[2] for row in page.all("table")[0].all("row")[1:]] == ["0", "4", "8"]
    assert "6 evaluations in between are left out" in page.one("main").text


async def test_runs_without_anything_are_compared_all_the_same(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    async with sqlite_database.write() as session:
        empty = [await make_compared(session, f"r{n}") for n in range(2)]
        odd = await make_compared(session, "odd", series={"loss": [float("nan")]})
        add_evaluation(session, odd, 0, [1], samples=3)
    for path in ("/compare", "/compare/statistics", "/compare/mazes", "/compare/report.html"):
        assert (await client.get(address([*empty, odd], path))).status_code == 200, path


async def test_queries_of_the_page_do_not_grow(
    client: httpx.AsyncClient,
    sqlite_database: Database,
    made: list[Run],
    count_queries: QueryCounter,
) -> None:
    await client.get(address(made))
    for path in ("/compare", "/compare/statistics", "/compare/mazes"):
        for runs in (made[:2], made):
            with count_queries(sqlite_database) as counted:
                await client.get(address(runs, path))
            # The part that comes later may ask for the curves of groups, too.
            most = 9 if path == "/compare/statistics" else 6
            assert counted.count <= most, (path, counted.statements)


async def test_the_report_is_an_attachment_that_runs_nothing_here(
    client: httpx.AsyncClient, made: list[Run]
) -> None:
    answer = await client.get(address(made, "/compare/report.html"))

    assert answer.headers["content-disposition"].startswith("attachment;")
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
