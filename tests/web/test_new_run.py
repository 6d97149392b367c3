import httpx
import pytest
from starlette.datastructures import FormData

from app.db import Database
from app.experiments import service as experiments
from app.recipes import service as recipes
from app.runs import service as runs
from app.web.forms import typed_values
from tests.web.html import Element, parse
from tests.web.seed import Seeded

RECIPE = "embedded-maze-grpo"
STEPS = "trainer.max_training_steps"


def filled(page: Element) -> dict[str, str]:
    """What a browser would send for the form as it stands."""
    values: dict[str, str] = {}
    form = page.by_id("new-run")
    for element in form.walk():
        name = element.attributes.get("name")
        kind = element.attributes.get("type", "")
        if not name or (kind in ("checkbox", "radio") and "checked" not in element.attributes):
            continue
        if element.tag == "select":
            chosen = [o for o in element.walk() if "selected" in o.attributes]
            values[name] = chosen[0].attributes["value"]
        elif element.tag == "input":
            values[name] = element.attributes.get("value", "")
    return values


async def test_the_form_as_it_stands_launches_the_recipe(
    client: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database
) -> None:
    page = parse((await client.get("/runs/new")).text)
    values = filled(page) | {"name": "first", "experiment": "curve"}
    answer = await client.post("/runs/new", data=values)
    assert answer.status_code == 303
    slug = answer.headers["Location"].removeprefix("/runs/")
    async with sqlite_database.read() as session:
        run = await runs.get(session, slug)
    assert (run.name, run.experiment.name, run.status, run.owner) == (
        "first",
        "curve",
        "queued",
        "admin",
    )
    assert run.config.values == recipes.get(RECIPE).defaults()
    assert run.config.version == 1
    shown = parse((await client.get(f"/runs/{slug}")).text)
    assert "Queued · waits, position 3" in shown.text


async def test_a_second_run_of_an_experiment_changes_only_its_own_config(
    client: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database
) -> None:
    values = filled(parse((await client.get("/runs/new")).text))
    values |= {"experiment": "maze-grpo", "trainer.seed": "5"}
    answer = await client.post("/runs/new", data=values)
    async with sqlite_database.read() as session:
        run = await runs.get(session, answer.headers["Location"].removeprefix("/runs/"))
        newest = await experiments.newest_config(session, run.experiment)
    assert run.config.values["trainer.seed"] == 5
    assert run.config.version is None
    assert newest is not None
    assert newest.values["trainer.seed"] == 0


async def test_a_refused_form_keeps_what_was_typed_and_says_what_is_wrong(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    values = filled(parse((await client.get("/runs/new")).text))
    typed = {STEPS: "many", "trainer.seed": "-1", "name": "keep <me>", "experiment": "e"}
    answer = await client.post("/runs/new", data=values | typed)
    assert answer.status_code == 422
    page = parse(answer.text)
    for label, value in (("Training steps", "many"), ("Seed", "-1")):
        control = page.labelled(label)
        assert control.attributes["value"] == value
        assert control.attributes["aria-invalid"] == "true"
        problem = control.attributes["aria-describedby"].split()[0]
        assert page.by_id(problem).text
    assert page.labelled("Run name").attributes["value"] == "keep <me>"
    assert "aria-invalid" not in page.labelled("LoRA rank").attributes
    summary = page.one("alert")
    assert "2 values to correct" in summary.text
    assert {link.attributes["href"] for link in summary.all("link")} == {
        "#" + page.labelled("Training steps").attributes["id"],
        "#" + page.labelled("Seed").attributes["id"],
    }
    async with sqlite_database.read() as session:
        assert await runs.count(session, projects=None) == 0
        assert not (await experiments.list_page(session, projects=None)).items


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"trainer.sead": "1"}, "trainer.seed"),
        ({"name": "x" * 201}, "1 to 200"),
        ({"trainer.train_batch_size": "100"}, "mini-batches of 8"),
    ],
)
async def test_what_is_no_setting_a_long_name_or_against_a_rule_is_refused(
    client: httpx.AsyncClient,
    seeded: Seeded,
    sqlite_database: Database,
    typed: dict[str, str],
    words: str,
) -> None:
    async with sqlite_database.read() as session:
        before = await runs.count(session, projects=None)
    values = filled(parse((await client.get("/runs/new")).text)) | {"experiment": "new"} | typed
    answer = await client.post("/runs/new", data=values)
    assert answer.status_code == 422
    assert words in parse(answer.text).one("alert").text
    async with sqlite_database.read() as session:
        assert await runs.count(session, projects=None) == before
        named = [row.name for row in (await experiments.list_page(session, projects=None)).items]
        assert "new" not in named


async def test_a_bad_experiment_name_is_said_of_its_own_field(client: httpx.AsyncClient) -> None:
    values = filled(parse((await client.get("/runs/new")).text)) | {"experiment": "x" * 201}
    page = parse((await client.post("/runs/new", data=values)).text)
    assert page.labelled("Experiment").attributes["aria-invalid"] == "true"
    assert "aria-invalid" not in page.labelled("Run name").attributes


async def test_a_name_with_a_nul_is_refused_and_shown_again(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    values = filled(parse((await client.get("/runs/new")).text))
    for field in ("name", "experiment"):
        answer = await client.post("/runs/new", data=values | {field: "nul\0"})
        assert answer.status_code == 422, field


def test_half_a_surrogate_pair_in_a_form_becomes_text_that_can_be_answered() -> None:
    typed = typed_values(FormData([("name", "a\ud800b"), ("\udfff", "c")]))
    assert typed == {"name": "a?b", "?": "c"}


async def test_a_flag_can_be_switched_off(
    client: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database
) -> None:
    key = "trainer.eval_before_train"
    values = filled(parse((await client.get("/runs/new")).text)) | {key: "false"}
    answer = await client.post("/runs/new", data=values)
    async with sqlite_database.read() as session:
        run = await runs.get(session, answer.headers["Location"].removeprefix("/runs/"))
    assert run.config.values[key] is False


async def test_the_form_can_start_from_another_runs_config(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    page = parse((await client.get(f"/runs/new?from={seeded.succeeded}")).text)
    assert page.labelled("Run name").attributes["value"] == "rank 32, seed 0"
    assert page.labelled("Experiment").attributes["value"] == "maze-grpo"


async def test_the_panel_says_when_it_would_start_and_how_long_it_takes(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    panel = parse((await client.post("/runs/new/check", data={"recipe": RECIPE})).text)
    assert "waits, position 3" in panel.text
    assert "about 1 min 27 s" in panel.text
    assert recipes.get(RECIPE).needs in panel.text


async def test_an_unknown_recipe_is_a_page_that_says_so(client: httpx.AsyncClient) -> None:
    answer = await client.get("/runs/new?recipe=nothing")
    assert answer.status_code == 404
    assert RECIPE in answer.text


async def test_a_recipe_that_the_cluster_cannot_run_is_refused_with_all_that_was_typed(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    page = parse((await client.get("/runs/new", params={"recipe": "visgym-sft-grpo"})).text)
    lacks = "cannot run visgym-sft-grpo: it has no GPUs"
    assert lacks in page.text
    values = filled(page) | {"trainer.epochs": "7", "job.environment": '{"A": "b"}'}
    assert values["data.train_data"] == '["/shared/runs/{run_id}/data/train.parquet"]'
    answer = await client.post("/runs/new", data=values)
    assert answer.status_code == 422
    again = parse(answer.text)
    assert lacks in again.text
    kept = filled(again)
    assert (kept["trainer.epochs"], kept["job.environment"]) == ("7", '{"A": "b"}')


@pytest.mark.parametrize(
    ("key", "typed", "said"),
    [
        ("data.train_data", "/a, /b", "must be a list"),
        ("job.environment", "[A]", "must be names with values"),
        ("trainer.train_batch_size", "32", "36"),
        ("generator.max_input_length", "many", "must be a whole number"),
    ],
)
async def test_skyrls_rules_are_said_beside_the_fields(
    client: httpx.AsyncClient, seeded: Seeded, key: str, typed: str, said: str
) -> None:
    page = parse((await client.get("/runs/new", params={"recipe": "visgym-sft-grpo"})).text)
    answer = await client.post("/runs/new", data=filled(page) | {key: typed})
    assert answer.status_code == 422
    assert said in answer.text
    assert filled(parse(answer.text))[key] == typed
