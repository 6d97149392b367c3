"""Form and YAML are two views of one config: nothing that was typed is lost between them."""

import httpx
import pytest

from app.db import Database
from app.experiments import service as experiments
from app.recipes import service as recipes
from app.runs import service as runs
from tests.editor.forms import BATCH, MAZE, SKYRL, filled, opened, press, raw_text, send
from tests.web.html import Element, parse
from tests.web.seed import ADMIN, Seeded

pytestmark = pytest.mark.usefixtures("seeded")
VIEWS = ("/runs/new", "/runs/new/yaml", "/runs/new/changes", "/runs/new/package")


def yaml_of(page: Element) -> str:
    return raw_text(page.by_id("yaml"))


@pytest.mark.parametrize("recipe", [each.name for each in recipes.list_all()])
async def test_each_view_of_each_recipe_has_a_url(client: httpx.AsyncClient, recipe: str) -> None:
    for url in VIEWS:
        page = await opened(client, f"{url}?recipe={recipe}")
        assert page.one("heading", "New run")
        current = [each for each in page.all("button") if each.attributes.get("aria-current")]
        assert recipe in current[0].text
        assert current[1].attributes["formaction"] == url


@pytest.mark.parametrize("recipe", [each.name for each in recipes.list_all()])
async def test_yaml_and_back_is_the_same_config(client: httpx.AsyncClient, recipe: str) -> None:
    page = await opened(client, f"/runs/new?recipe={recipe}")
    yaml = parse((await press(client, page, "YAML")).text)
    found = recipes.read_document(recipes.get(recipe), yaml_of(yaml))
    assert found.values == recipes.get(recipe).defaults()
    again = parse((await press(client, yaml, "Form")).text)
    own = ("yaml", "form_key")
    assert [pair for pair in filled(again) if pair[0] not in own] == [
        pair for pair in filled(page) if pair[0] not in own
    ]


async def test_what_is_typed_in_the_form_stands_in_the_yaml(client: httpx.AsyncClient) -> None:
    page = await opened(client)
    yaml = parse((await press(client, page, "YAML", trainer__epochs="7")).text)
    assert "trainer.epochs: 7" in yaml_of(yaml)


async def test_comments_survive_the_form(client: httpx.AsyncClient) -> None:
    page = await opened(client, f"/runs/new/yaml?recipe={SKYRL}")
    text = yaml_of(page).replace("trainer.epochs: 20", "trainer.epochs: 30  # as in the paper")
    form = parse((await press(client, page, "Form", yaml=text)).text)
    assert form.labelled("Epochs").attributes["value"] == "30"
    yaml = parse((await press(client, form, "YAML", trainer__epochs="40")).text)
    assert "trainer.epochs: 40  # as in the paper" in yaml_of(yaml)


async def test_yaml_that_cannot_be_read_stays_as_typed_with_its_place(
    client: httpx.AsyncClient,
) -> None:
    page = await opened(client, f"/runs/new/yaml?recipe={SKYRL}")
    text = "# mine\ntrainer:\n  epochs: [1\n"
    for button in ("Form", "Changes", "Job package", "Launch run", "Save version", "Check"):
        answer = await press(client, page, button, yaml=text)
        assert answer.status_code == 422, button
        shown = parse(answer.text)
        assert yaml_of(shown) == text, button
        control = shown.by_id("yaml")
        assert control.attributes["aria-invalid"] == "true"
        problem = shown.by_id(control.attributes["aria-describedby"].split()[0])
        assert "line 4, column 1" in problem.text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: &x [1, 2]\nb: *x\n", "aliases"),
        ("trainer.epochs: 1\ntrainer:\n  epochs: 2\n", "stands on line 1 already"),
        ("[" * 100 + "]" * 100, "nested too deeply"),
        ("\n".join(f"k{n}: 1" for n in range(10_000)), "more than 5,000"),
        ("trainer.run_name: 2024-01-01", "in quotes"),
        ("just words", "keys with values"),
    ],
)
async def test_yaml_that_is_not_taken_says_why(
    client: httpx.AsyncClient, text: str, words: str
) -> None:
    page = await opened(client, f"/runs/new/yaml?recipe={SKYRL}")
    answer = await press(client, page, "Check", yaml=text)
    assert answer.status_code == 422
    assert words in parse(answer.text).by_id("yaml-problem").text


BEYOND_YAML = {"too deep": "[" * 20 + "1" + "]" * 20, "too long": "x" * 140_000}


@pytest.mark.parametrize("value", BEYOND_YAML.values(), ids=BEYOND_YAML)
async def test_what_the_form_holds_and_yaml_cannot_is_kept_and_said(
    client: httpx.AsyncClient, value: str
) -> None:
    page = await opened(client, f"/runs/new/yaml?recipe={SKYRL}")
    page = parse((await press(client, page, "Form", yaml=f"# mine\n{yaml_of(page)}")).text)
    rows = [("other_key", "trainer.algorithm.eps_clip_low"), ("other_value", value)]
    pairs = [pair for pair in filled(page) if not pair[0].startswith("other_")] + rows
    for do, url in (("launch", "/runs/new"), ("save", "/runs/new"), ("show", "/runs/new/yaml")):
        answer = await send(client, url, [*pairs, ("do", do)])
        assert answer.status_code == 422, do
        assert value in answer.text
    assert "YAML" in parse(answer.text).by_id("check").text
    fix = ("set", '{"trainer.seed": 5}')
    fixed = parse((await send(client, "/runs/new", [*pairs, fix])).text)
    assert fixed.labelled("Seed").attributes["value"] == "5"
    assert fixed.by_id("other-1-value").attributes["value"] == value


async def test_a_text_that_is_no_value_is_kept_on_every_view(client: httpx.AsyncClient) -> None:
    page = await opened(client)
    for button in ("YAML", "Changes", "Job package", "Form"):
        answer = await press(client, page, button, trainer__epochs="a lot")
        assert answer.status_code == 200
        page = parse(answer.text)
        assert "a lot" in answer.text, button
        assert "must be a whole number" in page.by_id("check").text, button
    control = page.labelled("Epochs")
    assert control.attributes["value"] == "a lot"
    assert control.attributes["aria-invalid"] == "true"


async def test_another_recipe_keeps_what_was_changed(client: httpx.AsyncClient) -> None:
    page = await opened(client)
    answer = await press(
        client, page, "visgym-instruct-grpo", trainer__seed="77", experiment="mine"
    )
    other = parse(answer.text)
    assert other.labelled("Seed").attributes["value"] == "77"
    assert other.labelled("Experiment").attributes["value"] == "mine"
    fields = recipes.get("visgym-instruct-grpo").defaults()
    batch = next(each for each in other.walk() if each.attributes.get("name") == BATCH)
    assert batch.attributes["value"] == str(fields[BATCH])


async def test_a_yaml_that_names_another_recipe_is_of_that_one(client: httpx.AsyncClient) -> None:
    page = await opened(client, f"/runs/new/yaml?recipe={SKYRL}")
    form = parse((await press(client, page, "Form", yaml=f"recipe: {MAZE}\n")).text)
    assert dict(filled(form))["recipe"] == MAZE


async def test_a_yaml_that_names_no_recipe_says_so_at_its_line(client: httpx.AsyncClient) -> None:
    page = await opened(client, f"/runs/new/yaml?recipe={SKYRL}")
    text = "# mine\nrecipe: foo\ntrainer.epochs: 3\n"
    for button in ("Form", "Launch run", "Save version", "Check"):
        answer = await press(client, page, button, yaml=text)
        shown = parse(answer.text)
        assert answer.status_code == 422, button
        assert yaml_of(shown) == text
        problem = shown.by_id("yaml-problem").text
        assert "line 2, column 9" in problem.lower()
        assert "no recipe named 'foo'" in problem
        assert MAZE in problem
    pairs = [("recipe", SKYRL), ("view", "yaml"), ("yaml", text)]
    live = await send(client, "/runs/new/check", pairs)
    assert live.status_code == 200
    assert "no recipe named" in live.text


@pytest.mark.parametrize(
    "text", ["trainer: [1\n", "just words", "#" * 140_000, "trainer.epochs: 3\n"]
)
async def test_the_panel_says_one_thing_of_the_embedded_cluster(
    client: httpx.AsyncClient, text: str
) -> None:
    pairs = [("recipe", SKYRL), ("view", "yaml"), ("yaml", text), ("cluster", "embedded")]
    said = parse((await send(client, "/runs/new/check", pairs)).text).text
    assert "embedded cluster cannot run" in said
    assert "ask an administrator" not in said
    assert "not on this cluster" in said
    assert "is not known here" not in said
    if text.startswith("trainer.epochs"):
        assert "Embedded has none" in said


@pytest.mark.parametrize("typed", ["null", "on", "true", "~"])
async def test_a_wrong_value_is_named_as_yaml_has_it(client: httpx.AsyncClient, typed: str) -> None:
    pairs = [("recipe", SKYRL), ("view", "yaml"), ("yaml", f"trainer.epochs: {typed}\n")]
    said = parse((await send(client, "/runs/new/check", pairs)).text).text
    meant = "null" if typed in ("null", "~") else "true"
    assert f"Epochs must be a whole number, not {meant}." in said


async def test_other_keys_are_typed_values_and_checked(client: httpx.AsyncClient) -> None:
    page = await opened(client)
    pairs = [pair for pair in filled(page) if not pair[0].startswith("other_")]
    rows = [
        ("trainer.algorithm.eps_clip_low", "0.3"),
        ("trainer.algorithm.eps_clip_hihg", "0.3"),
        ("trainer.epochs", "5"),
    ]
    pairs += [pair for k, v in rows for pair in (("other_key", k), ("other_value", v))]
    shown = parse((await send(client, "/runs/new", [*pairs, ("do", "check")])).text)
    said = shown.by_id("check").text
    assert "trainer.epochs is set twice" in said
    assert shown.by_id("other-1-key").attributes["value"] == "trainer.algorithm.eps_clip_low"
    assert "float" in shown.by_id("other-1-hint").text
    assert "trainer.algorithm.eps_clip_high" in shown.by_id("other-2-value-problem").text
    assert shown.by_id("other-4-key").attributes["value"] == ""


async def test_keys_complete_from_the_tree(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"/runs/new/keys?recipe={SKYRL}&q=trainer.algorithm.eps")
    options = [each.attributes["value"] for each in parse(answer.text).walk() if each.tag]
    assert options
    assert all(each.startswith("trainer.algorithm.eps") for each in options)
    assert (await client.get(f"/runs/new/keys?recipe={MAZE}&q=trainer")).text.strip() == ""


async def test_changes_are_listed_against_recipe_and_newest_version(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    page = await opened(client, f"/runs/new?from={seeded.succeeded}")
    shown = parse((await press(client, page, "Changes", trainer__seed="123")).text)
    tables = {each.attributes.get("aria-label"): each for each in shown.all("region")}
    for label in ("Changes from the recipe", "Changes from the experiment's newest version"):
        row = next(each for each in tables[label].all("row") if "trainer.seed" in each.text)
        assert row.all("cell")[-1].text == "123"


async def test_changes_are_listed_against_any_earlier_version(
    client: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database
) -> None:
    async with sqlite_database.write() as session:
        experiment = (await runs.get(session, seeded.succeeded)).experiment
        slug = experiment.slug
        for seed in (101, 102):
            config = {"trainer.seed": seed}
            made, _ = await experiments.add_version(session, experiment, config, actor=ADMIN)
    newest = made.version
    assert newest is not None

    def compared(page: Element) -> tuple[str, str]:
        """The version that stands above the table, and the seed that it has."""
        heading = page.by_id("from-version").text
        region = next(
            each
            for each in page.all("region")
            if each.attributes.get("aria-label", "")
            in (
                "Changes from the experiment's newest version",
                f"Changes {heading[0].lower()}{heading[1:]}",
            )
        )
        row = next(each for each in region.all("row") if "trainer.seed" in each.text)
        return heading, row.all("cell")[2].text

    page = await opened(client, f"/runs/new/changes?from={slug}&against={newest - 1}")
    assert compared(page)[1] == "101"
    assert f"version {newest - 1} of" in compared(page)[0]
    assert f"version {newest} of" in page.by_id("check").text
    page = parse((await press(client, page, "Form", trainer__seed="7")).text)
    page = parse((await press(client, page, "Changes", trainer__seed="7")).text)
    assert compared(page)[1] == "101"
    page = parse((await press(client, page, "Compare", against=str(newest))).text)
    assert compared(page)[1] == "102"
    for odd in ("99", "0", "x"):
        shown = parse((await press(client, page, "Compare", against=odd)).text)
        assert compared(shown)[1] == "102"


async def test_the_job_package_can_be_read_and_downloaded(client: httpx.AsyncClient) -> None:
    page = await opened(client, f"/runs/new/package?recipe={SKYRL}")
    files = recipes.render(recipes.get(SKYRL), recipes.resolve(SKYRL, {})).files
    for name, text in files.items():
        answer = await press(client, page, f"Download {name}")
        assert answer.status_code == 200
        assert answer.text == text
        assert f'filename="{name}"' in answer.headers["Content-Disposition"]
    assert "ray job submit" in page.by_id("submit-command").text


async def test_there_is_no_package_of_a_config_with_errors(client: httpx.AsyncClient) -> None:
    page = await opened(client)
    shown = parse((await press(client, page, "Job package", trainer__epochs="x")).text)
    assert "once the config has no errors" in shown.text
    pairs = [("recipe", SKYRL), ("trainer.epochs", "x")]
    assert (await send(client, "/runs/new/package/train_job.sh", pairs)).status_code == 422
    pairs = [("recipe", MAZE)]
    assert (await send(client, "/runs/new/package/nothing", pairs)).status_code == 404
