"""The pages of sweeps, without JavaScript."""

import httpx
import pytest

from app.db import Database
from app.experiments import service as experiments
from app.models import Experiment
from app.projects import service as projects
from app.recipes import service as recipes
from tests.factories import ADA, make_experiment, make_run
from tests.queries import QueryCounter
from tests.sweeps.factories import SEED, STEPS, make_sweep
from tests.web.html import Element, parse

LR = "trainer.policy.optimizer_config.lr"


@pytest.fixture
async def url(client: httpx.AsyncClient, page_database: Database) -> str:
    """The form of a sweep."""
    async with page_database.write() as session:
        made: Experiment = await make_experiment(session)
    return f"/experiments/{made.slug}/sweeps/new"


async def send(client: httpx.AsyncClient, url: str, **fields: object) -> httpx.Response:
    """`key_0` stands for the control `key-0`, which Python cannot name."""
    named = {n.replace("_", "-") if n[-1].isdigit() else n: value for n, value in fields.items()}
    return await client.post(url, data=named)


def cells(page: Element) -> list[list[str]]:
    table = page.one("region", "All configs")
    return [[cell.text for cell in row.all("cell")] for row in table.all("row")[1:]]


async def test_a_grid_is_previewed_and_then_launched(client: httpx.AsyncClient, url: str) -> None:
    assert "How the configs are chosen" in parse((await client.get(url)).text).text
    grid = {"kind": "grid", "key_0": SEED, "values_0": "1, 2", "key_1": LR, "values_1": "1e-3,2e-3"}
    answer = await send(client, url, **grid, do="preview")
    assert answer.status_code == 200
    page = parse(answer.text)
    assert [row[2:] for row in cells(page)] == [
        ["1", "0.001", "0", "no errors"],
        ["1", "0.002", "0", "no errors"],
        ["2", "0.001", "0", "no errors"],
        ["2", "0.002", "0", "no errors"],
    ]
    assert page.labelled("Values of key 2").attributes["value"] == "1e-3,2e-3"
    made = await send(client, url, **grid, do="launch", exclude=["1", "4"])
    assert made.status_code == 303
    shown = parse((await client.get(made.headers["Location"])).text)
    assert "2 runs: 2 queued" in shown.text
    assert [link.text for link in shown.one("region", "Runs of the sweep").all("link")] == [
        "1. seed=1, lr=0.002",
        "2. seed=2, lr=0.001",
    ]
    listed = parse((await client.get(url.removesuffix("/new"))).text)
    assert "Grid" in listed.one("region", "Sweeps").text


async def test_a_form_that_is_sent_twice_makes_one_sweep(
    client: httpx.AsyncClient, url: str
) -> None:
    grid = {"kind": "grid", "key_0": SEED, "values_0": "1, 2", "do": "launch"}
    shown = parse((await client.get(url)).text)
    (key,) = (e.attributes["value"] for e in shown.walk() if e.attributes.get("name") == "form_key")
    first, again = [await send(client, url, **grid, form_key=key) for _ in range(2)]
    assert first.headers["Location"] == again.headers["Location"]
    assert "made once" in parse((await client.get(again.headers["Location"])).text).text
    other = await send(client, url, **{**grid, "values_0": "3, 4"}, form_key=key)
    assert other.headers["Location"] != first.headers["Location"]


async def test_only_what_the_preview_showed_is_launched(
    client: httpx.AsyncClient, url: str
) -> None:
    grid = {"kind": "grid", "key_0": SEED, "values_0": "1, 2, 3"}
    page = parse((await send(client, url, **grid, do="preview")).text)
    (seen,) = (
        e.attributes["value"] for e in page.walk() if e.attributes.get("name") == "previewed"
    )
    changed = {**grid, "values_0": "7, 8, 9", "exclude": "2", "do": "launch"}
    answer = await send(client, url, **changed, previewed=seen)
    assert answer.status_code == 422
    page = parse(answer.text)
    assert "not what the preview showed" in page.one("alert").text
    boxes = [e for e in page.walk() if e.attributes.get("name") == "exclude"]
    assert len(boxes) == 3
    assert not any("checked" in box.attributes for box in boxes)
    (seen,) = (
        e.attributes["value"] for e in page.walk() if e.attributes.get("name") == "previewed"
    )
    assert (await send(client, url, **changed, previewed=seen)).status_code == 303


async def test_wrong_configs_are_shown_and_may_be_left_out(
    client: httpx.AsyncClient, url: str
) -> None:
    grid = {"kind": "grid", "key_0": SEED, "values_0": "1, x"}
    for do in ("preview", "launch"):
        answer = await send(client, url, **grid, do=do)
        assert answer.status_code == 422
        page = parse(answer.text)
        assert "1 config has errors" in page.one("alert").text
        assert "whole number" in cells(page)[1][-1]
        (link,) = page.one("region", "All configs").all("link")
        assert link.text == SEED
        assert page.by_id(link.attributes["href"].removeprefix("#")).attributes["value"] == SEED
    assert (await send(client, url, **grid, do="launch", exclude="2")).status_code == 303


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "grid"}, "at least one key"),
        ({"kind": "grid", "values_0": "1"}, "no key"),
        ({"kind": "grid", "key_0": SEED, "values_0": "1", "how_0": "uniform"}, "grid needs values"),
        ({"kind": "grid", "key_0": SEED, "values_0": "0 to 900", "how_0": "int"}, "at most 200"),
        (
            {"kind": "grid", "key_0": SEED, "values_0": "1", "key_1": SEED, "values_1": "2"},
            "two rows",
        ),
        ({"kind": "random", "key_0": LR, "values_0": "1e-2", "how_0": "uniform"}, "two numbers"),
        ({"kind": "random", "key_0": LR, "values_0": "2 to 1", "how_0": "uniform"}, "lower end"),
        ({"kind": "random", "key_0": SEED, "values_0": "1, 2", "count": "many"}, "whole number"),
        ({"kind": "grid", "key_0": SEED, "values_0": "1", "max_running_runs": "0"}, "1 to 100"),
        ({"kind": "grid", "key_0": SEED, "values_0": "1", "cluster": "gone"}, "no longer there"),
        (
            {"kind": "explicit", "configs": "trainer.seed 3"},
            "Line 1: trainer.seed is not",
        ),
        ({"kind": "explicit", "configs": "a=1\na='b"}, "Line 2: no closing quotation"),
    ],
)
async def test_what_cannot_be_read_is_said_and_kept(
    client: httpx.AsyncClient, url: str, fields: dict[str, str], words: str
) -> None:
    answer = await send(client, url, **fields, do="launch", name="kept")
    assert answer.status_code == 422
    page = parse(answer.text)
    assert words in page.one("alert").text
    assert page.labelled("Name").attributes["value"] == "kept"


async def test_ranges_and_lists(client: httpx.AsyncClient, url: str) -> None:
    grid = {"kind": "grid", "key_0": SEED, "how_0": "int", "values_0": "3 to 5"}
    assert [row[2] for row in cells(parse((await send(client, url, **grid)).text))] == list("345")
    drawn = {"kind": "random", "count": "4", "seed": "1", "key_0": LR, "how_0": "log_uniform"}
    drawn["values_0"] = "1e-4 to 1e-2"
    first = cells(parse((await send(client, url, **drawn)).text))
    assert len(first) == 4
    assert cells(parse((await send(client, url, **drawn)).text)) == first
    few = {"kind": "random", "key_0": SEED, "values_0": "1, 2"}
    assert "Only 2 different configs" in parse((await send(client, url, **few)).text).text
    rows = {"kind": "explicit", "configs": f"{SEED}=1\n\n{STEPS}=30 {SEED}=2\n"}
    assert [row[2:4] for row in cells(parse((await send(client, url, **rows)).text))] == [
        ["1", "–"],
        ["2", "30"],
    ]


async def test_the_form_offers_clusters_and_compares_their_gpus(
    client: httpx.AsyncClient, url: str
) -> None:
    choice = parse((await client.get(url)).text).labelled("Cluster")
    assert [each.attributes["value"] for each in choice.walk() if each.tag == "option"] == [
        "embedded"
    ]
    assert "no GPU" in choice.text
    grid = {"kind": "grid", "key_0": SEED, "values_0": "1, 2", "cluster": "embedded"}
    page = parse((await send(client, url, **grid)).text)
    assert "Embedded has no GPU; no config asks for any." in page.text


async def test_what_the_cluster_cannot_run_is_refused_with_its_rule_and_a_link(
    client: httpx.AsyncClient, page_database: Database
) -> None:
    async with page_database.write() as session:
        home = await projects.ensure_default(session)
        made = await experiments.create(
            session, project=home, name="big", recipe="visgym-sft-grpo", config={}, actor=ADA
        )
    url = f"/experiments/{made.slug}/sweeps/new"
    answer = await send(client, url, kind="grid", key_0=SEED, values_0="1, 2", do="launch")
    assert answer.status_code == 422
    page = parse(answer.text)
    gpus = sum((recipes.examine(recipes.get("visgym-sft-grpo"), {}).gpus or {}).values())
    for row in cells(page):
        assert row[3].startswith(str(gpus))
        assert "more than the cluster has" in row[3]
        assert "embedded_cluster" in row[-1]
    links = page.one("region", "All configs").all("link")
    assert {link.attributes["href"] for link in links} == {"#field-cluster"}
    assert f"has no GPU; the largest config asks for {gpus} GPUs." in page.text


async def test_a_run_and_its_sweep_lead_to_each_other(
    client: httpx.AsyncClient, page_database: Database
) -> None:
    async with page_database.write() as session:
        sweep = await make_sweep(session, runs=2)
        await make_run(session, name="of no sweep")
    shown = parse((await client.get(f"/sweeps/{sweep.slug}")).text)
    run = shown.one("region", "Runs of the sweep").all("link")[1].attributes["href"]
    page = parse((await client.get(run)).text)
    assert "Run 2 of the sweep" in page.text
    assert f"/sweeps/{sweep.slug}" in {link.attributes.get("href") for link in page.all("link")}
    listed = parse((await client.get(f"/runs?sweep={sweep.slug}")).text)
    assert len(listed.one("region", "Runs").all("row")) == 3
    assert "of no sweep" not in listed.text
    assert f"sweep={sweep.slug}" in listed.one("link", "Succeeded").attributes["href"]
    assert listed.one("link", sweep.slug).attributes["href"] == "/runs"
    assert "No run fits" in parse((await client.get("/runs?sweep=swp-none")).text).text


async def test_an_experiment_that_was_archived_meanwhile_loses_nothing_typed(
    client: httpx.AsyncClient, page_database: Database, url: str
) -> None:
    async with page_database.write() as session:
        mine = await experiments.get(session, url.split("/")[2])
        await experiments.archive(session, mine, actor=ADA)
    answer = await send(client, url, kind="grid", key_0=SEED, values_0="7, 8", do="launch")
    assert answer.status_code == 422
    page = parse(answer.text)
    assert "archived" in page.one("alert").text
    assert page.labelled("Values of key 1").attributes["value"] == "7, 8"


async def test_a_sweep_is_stopped_and_resumed(
    client: httpx.AsyncClient, page_database: Database
) -> None:
    async with page_database.write() as session:
        sweep = await make_sweep(session, max_running_runs=1)
    url = f"/sweeps/{sweep.slug}"
    page = parse((await client.get(url)).text)
    assert "waits for the cluster to start" in page.text
    assert "3 runs have not ended" in parse((await client.get(f"{url}/stop")).text).text
    assert (await client.post(f"{url}/stop")).status_code == 303
    assert "stopping before it started" in parse((await client.get(url)).text).text
    assert (await client.post(f"{url}/resume")).status_code == 303
    assert (await client.get(f"{url}?sort=best")).status_code == 200
    assert (await client.get("/sweeps/swp-none")).status_code == 404


async def test_the_cost_of_a_sweep_does_not_grow(
    client: httpx.AsyncClient, page_database: Database, count_queries: QueryCounter
) -> None:
    costs = []
    for number in (2, 8):
        async with page_database.write() as session:
            sweep = await make_sweep(session, runs=number)
        with count_queries(page_database) as counted:
            await client.get(f"/sweeps/{sweep.slug}")
        costs.append(counted.count)
    assert costs[0] == costs[1]
