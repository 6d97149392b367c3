"""The pages of evaluations and eval sets, without JavaScript."""

import csv
import io
from collections.abc import Iterator

import httpx
import pytest
from fastapi import FastAPI

from app.db import Database
from app.episodes.deps import get_models
from app.maze.eval_sets import EASY_0_63_T15
from tests.evaluations.factories import (
    RIGHT,
    STOP,
    add_endpoint,
    make_evaluation,
    make_loop,
    small_set,
)
from tests.fakes.models import ScriptedModel, ScriptedModels
from tests.queries import QueryCounter
from tests.web.html import Element, parse

HTMX = {"HX-Request": "true", "HX-Request-Type": "partial"}


@pytest.fixture
def page_database(database: Database) -> Database:
    """Both kinds."""
    return database


@pytest.fixture
def models(app: FastAPI) -> Iterator[ScriptedModels]:
    fake = ScriptedModels(a=ScriptedModel(STOP), b=ScriptedModel(RIGHT))
    app.dependency_overrides[get_models] = lambda: fake
    yield fake
    del app.dependency_overrides[get_models]


async def play(database: Database, models: ScriptedModels) -> None:
    loop = make_loop(database, models)
    while await loop.turn():
        pass


async def register(database: Database) -> None:
    async with database.write() as session:
        await add_endpoint(session, "a", "b")


async def look(client: httpx.AsyncClient, path: str, status: int = 200) -> Element:
    answer = await client.get(path)
    assert answer.status_code == status, answer.text
    return parse(answer.text)


def rows(page: Element, region: str) -> list[list[str]]:
    table = page.one("region", region).one("table")
    found = [
        [cell.text for cell in row.walk() if cell.tag in ("td", "th")] for row in table.all("row")
    ]
    return found[1:]


async def test_an_empty_list_says_what_an_evaluation_is(
    client: httpx.AsyncClient, models: ScriptedModels
) -> None:
    page = await look(client, "/evaluations")
    assert "says how many each solves" in page.one("main").text
    assert page.one("navigation", "Main").one("link", "Evaluations").attributes["aria-current"]


async def test_the_form_makes_an_evaluation_once(
    client: httpx.AsyncClient, models: ScriptedModels, page_database: Database
) -> None:
    await register(page_database)
    page = await look(client, "/evaluations/new?model=b&set=easy-0-63-t18")
    boxes = {box.attributes["value"]: "checked" in box.attributes for box in page.all("checkbox")}
    assert boxes == {"fake a": False, "fake b": True}
    (chosen,) = [e for e in page.walk() if e.tag == "option" and "selected" in e.attributes]
    assert chosen.attributes["value"] == "easy-0-63-t18"

    form = {"form_key": "k", "models": ["fake a", "fake b"], "eval_set": "easy-solvable-15"}
    first = await client.post("/evaluations/new", data=form)
    again = await client.post("/evaluations/new", data=form)
    assert first.status_code == again.status_code == 303
    assert first.headers["location"] == again.headers["location"]
    page = await look(client, first.headers["location"])
    assert page.one("heading", "a and b on easy-solvable-15")
    assert "Waits for a worker" in page.text
    assert "64 solvable in 15 turns" in page.text
    assert len(page.one("main").all("listitem", "not played by both yet")) == 64


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({}, "Models: Tick 1 to 8 models."),
        ({"temperature": "warm"}, "Models: Tick 1 to 8 models."),
        ({"models": "fake a", "temperature": "warm"}, "no number"),
        ({"models": "fake a", "samples": "2"}, "at temperature 0 each play"),
        ({"models": "fake c"}, "there is no model c"),
        ({"models": "fake a", "eval_set": "none"}, "there is no eval set none"),
        ({"models": "fake a", "project": "none"}, "there is no project none"),
    ],
)
async def test_a_refused_form_keeps_what_was_typed(
    client: httpx.AsyncClient,
    models: ScriptedModels,
    page_database: Database,
    form: dict[str, str],
    words: str,
) -> None:
    await register(page_database)
    answer = await client.post("/evaluations/new", data={"name": "my name"} | form)
    assert answer.status_code == 422
    page = parse(answer.text)
    assert words.lower() in page.one("alert").text.lower()
    assert page.labelled("Name").attributes["value"] == "my name"


async def test_results_say_rates_with_their_intervals_and_who_solves_what(
    client: httpx.AsyncClient, models: ScriptedModels, page_database: Database
) -> None:
    made = await make_evaluation(page_database, models, "a", "b", eval_set=small_set(3))
    await play(page_database, models)
    page = await look(client, f"/evaluations/{made.slug}")

    found = rows(page, "Results by model")
    assert found[0][:3] == ["A a Fake", "0/3 · 0.0 % [0–56]", "0/3 · 0.0 %"]
    assert found[1][4] == "±0 of 3 · 0 gained, 0 lost · p = 1.00"
    sentence = "B solves as many of 3 mazes as A (0 gained, 0 lost); McNemar p = 1.00"
    assert sentence in page.one("main").text
    ends = rows(page, "Episodes by end")
    assert ["Stopped away from the target", "3", "0"] in ends
    turns = rows(page, "Episodes by turns")
    assert turns[0] == ["1", "3", "0"]
    assert turns[2] == ["3", "0", "3"]
    (cell,) = [
        each for each in page.all("link") if each.attributes.get("title", "")[:7] == "Maze 0:"
    ]
    assert cell.attributes["title"] == "Maze 0: solved by none"
    episode = await client.get(cell.attributes["href"])
    assert episode.status_code == 200
    episodes = rows(page, "Episodes by maze")
    assert episodes[0][:2] == ["0", "Stopped away from the target · 1 turn"]


async def test_a_model_alone_is_compared_with_nobody(
    client: httpx.AsyncClient, models: ScriptedModels, page_database: Database
) -> None:
    made = await make_evaluation(page_database, models, "a", eval_set=small_set(3))
    await play(page_database, models)
    page = await look(client, f"/evaluations/{made.slug}")

    assert "McNemar" not in page.one("main").text
    assert "not solved: 3" in page.one("main").text


async def test_several_samples_have_no_pairs(
    client: httpx.AsyncClient, models: ScriptedModels, page_database: Database
) -> None:
    made = await make_evaluation(
        page_database, models, "a", "b", eval_set=small_set(2), samples=2, temperature=0.7
    )
    await play(page_database, models)
    page = await look(client, f"/evaluations/{made.slug}")

    assert "McNemar's test needs one episode a maze" in page.text
    assert page.one("navigation", "Compared models").all("link")


async def test_the_published_figures_stand_beside_the_tutorials_set_only(
    client: httpx.AsyncClient, models: ScriptedModels, page_database: Database
) -> None:
    tutorial = await make_evaluation(page_database, models, "a", eval_set=EASY_0_63_T15)
    other = await make_evaluation(page_database, models, "a")

    assert "as pass_at_1, unverified" in (await look(client, f"/evaluations/{tutorial.slug}")).text
    assert "unverified" not in (await look(client, f"/evaluations/{other.slug}")).text


async def test_the_page_follows_what_changes_and_nothing_else(
    client: httpx.AsyncClient, models: ScriptedModels, page_database: Database
) -> None:
    made = await make_evaluation(page_database, models, "a")
    page = await look(client, f"/evaluations/{made.slug}")
    address = page.by_id("live").attributes["hx-get"]
    assert (await client.get(address, headers=HTMX)).status_code == 204
    await play(page_database, models)
    newer = await client.get(address, headers=HTMX)
    assert newer.status_code == 200
    live = parse(newer.text).by_id("live")
    assert "hx-get" not in live.attributes, "it has ended: nothing will change"
    assert "4 of 4 episodes played" in live.text


async def test_stop_and_resume(
    client: httpx.AsyncClient, models: ScriptedModels, page_database: Database
) -> None:
    path = f"/evaluations/{(await make_evaluation(page_database, models, 'a')).slug}"
    assert (await client.post(f"{path}/stop")).status_code == 303
    page = await look(client, path)
    assert page.one("button", "Resume")
    assert not page.all("button", "Stop")
    assert (await client.post(f"{path}/resume")).status_code == 303
    await play(page_database, models)
    page = await look(client, path)
    assert not page.all("button", "Resume")
    assert (await client.post(f"{path}/resume")).status_code == 409


async def test_the_episodes_as_csv(
    client: httpx.AsyncClient, models: ScriptedModels, page_database: Database
) -> None:
    models.models["=1+1"] = ScriptedModel(STOP)
    made = await make_evaluation(page_database, models, "=1+1", eval_set=small_set(2))
    await play(page_database, models)
    answer = await client.get(f"/evaluations/{made.slug}/episodes.csv")
    assert answer.headers["content-type"].startswith("text/csv")
    found = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["seed"] for row in found] == ["0", "2"]
    assert {row["model"] for row in found} == {"'=1+1"}
    assert found[0]["episode"].startswith("eps-")


async def test_eval_sets_are_listed_and_added(
    client: httpx.AsyncClient, models: ScriptedModels, page_database: Database
) -> None:
    form = {"name": "mine", "env_id": "maze_2d/hard", "seeds": "0-3, 9", "max_turns": "30"}
    assert (await client.post("/eval-sets", data=form)).status_code == 303
    page = await look(client, "/eval-sets")
    found = {row[0]: row for row in rows(page, "Eval sets")}
    assert found["mine"][1:7] == ["Hard 11 × 11", "0-3, 9", "5", "30", "keyword", "5"]
    assert found["easy-0-63-t15"][6] == "50"
    offered = await look(client, "/evaluations/new?set=mine")
    (chosen,) = [e for e in offered.walk() if e.tag == "option" and "selected" in e.attributes]
    assert chosen.attributes["value"] == "mine"

    for change, words in (
        ({}, "never changed"),
        ({"seeds": "1-x"}, "no seed and no range"),
        ({"name": "No Name"}, "a name has 1 to 64"),
        ({"env_id": "maze_4d"}, "unknown environment"),
        ({"max_turns": "many"}, "no whole number"),
    ):
        answer = await client.post("/eval-sets", data=form | change)
        assert answer.status_code == 422
        page = parse(answer.text)
        assert words in page.one("alert").text.lower()
        assert page.labelled("Seeds").attributes["value"] == (form | change)["seeds"]


async def test_all_that_is_wrong_with_an_eval_set_is_said_at_once(
    client: httpx.AsyncClient, models: ScriptedModels
) -> None:
    # The form is there for those with a project, which the first set makes.
    first = {"name": "first", "seeds": "0"}
    assert (await client.post("/eval-sets", data=first)).status_code == 303
    sizes = {"env_id": "custom", "height": "8", "width": "wide"}
    form = {"name": "No Name", "seeds": "1-x", "max_turns": "many"} | sizes
    answer = await client.post("/eval-sets", data=form)
    assert answer.status_code == 422
    page = parse(answer.text)
    told = page.one("alert").text
    for label in ("Name", "Height", "Width", "Seeds", "Turn limit"):
        assert f"{label}: " in told
        assert page.labelled(label).attributes["aria-invalid"] == "true"
    (chosen,) = [e for e in page.walk() if e.tag == "option" and e.text == "Custom"]
    assert "selected" in chosen.attributes


async def test_an_eval_set_has_mazes_of_the_sizes_typed(
    client: httpx.AsyncClient, models: ScriptedModels, page_database: Database
) -> None:
    sizes = {"env_id": "custom", "height": "7", "width": "9"}
    form = {"name": "small", "seeds": "0", "max_turns": "30"} | sizes
    assert (await client.post("/eval-sets", data=form)).status_code == 303
    page = await look(client, "/eval-sets")
    (row,) = [row for row in rows(page, "Eval sets") if row[0] == "small"]
    assert "7 × 9" in row[1]


async def test_the_pages_take_as_many_queries_for_many_as_for_one(
    client: httpx.AsyncClient,
    models: ScriptedModels,
    page_database: Database,
    count_queries: QueryCounter,
) -> None:
    one = await make_evaluation(page_database, models, "a", eval_set=small_set(1))
    counted = []
    for _ in range(2):
        with count_queries(page_database) as lines:
            await look(client, "/evaluations")
        with count_queries(page_database) as whole:
            await look(client, f"/evaluations/{one.slug}")
        counted.append((lines.count, whole.count))
        one = await make_evaluation(page_database, models, "a", "b", eval_set=small_set(6))
        await play(page_database, models)
    assert counted[0] == counted[1]
    assert max(counted[0]) <= 5, counted
