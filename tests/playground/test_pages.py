"""The playground's pages, as a browser without scripts and `maze.js` ask for them."""

import io
import json

import httpx
import pytest
from PIL import Image, ImageSequence

from app.db import Database
from app.episodes.engine import Task
from app.episodes.service import MAX_TURNS
from app.evaluations import sets
from app.evaluations.sets import NewSet
from app.llm.chat import ModelError, ModelErrorKind
from app.maze.generate import generate
from app.maze.parse import Dialect
from app.maze.render import Canvas
from app.models import Project
from app.playground.links import play_url
from app.projects import service as projects
from tests.evaluations.factories import add_endpoint
from tests.factories import ADA
from tests.fakes.models import ScriptedModel, ScriptedModels
from tests.playground.factories import add_episode, said
from tests.web.html import parse

PARTIAL = {"HX-Request": "true", "HX-Request-Type": "partial"}
FORM = {"lane-1": "fake walker", "lane-2": "you", "seed": "3"}


async def opened(client: httpx.AsyncClient, **values: str) -> str:
    """Makes an episode; returns the address of its page."""
    answer = await client.post("/playground", data=FORM | values)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


async def played(database: Database, *words: str) -> str:
    async with database.write() as session:
        home = await projects.ensure_default(session)
        return f"/playground/{(await add_episode(session, home.id, said(*words))).slug}"


async def test_a_form_makes_an_episode_which_is_listed(
    client: httpx.AsyncClient, models: ScriptedModels
) -> None:
    url = await opened(client)
    page = (await client.get(url)).text
    assert "Easy maze, seed 3" in page
    assert "Ready for turn 1" in page
    assert "Your turn" in page
    assert url in (await client.get("/playground")).text


async def test_a_link_opens_the_form_on_its_maze_with_its_models(
    client: httpx.AsyncClient, models: ScriptedModels, page_database: Database
) -> None:
    async with page_database.write() as session:
        await add_endpoint(session, "base", "base:mine", slug="here")
    task = Task(env_id="maze_2d/11x21", seed=5, max_turns=9)
    url = play_url(task, models=["here base", "here base:mine"])
    page = parse((await client.get(url)).text)
    chosen = [page.labelled(f"Lane {number}") for number in (1, 2, 3)]
    assert [each.attributes["name"] for each in chosen] == ["lane-1", "lane-2", "lane-3"]
    options = [
        each.attributes["value"]
        for each in page.walk()
        if each.tag == "option" and "selected" in each.attributes
    ]
    assert options[:2] == ["here base", "here base:mine"]
    assert {"custom", "tuple"} <= set(options)
    shown = {name: page.labelled(name).attributes["value"] for name in ("Height", "Width", "Seed")}
    assert shown == {"Height": "11", "Width": "21", "Seed": "5"}
    assert page.labelled("Turn limit").attributes["value"] == "9"
    assert "No endpoint offers" not in page.text


async def test_a_link_to_a_model_that_nobody_offers_says_so(client: httpx.AsyncClient) -> None:
    page = parse((await client.get(play_url(models=["embedded maze-base:new"]))).text)
    assert "No endpoint offers maze-base:new right now" in page.text
    assert page.one("link", "look again").attributes["href"].endswith("maze-base%3Anew")


async def test_the_same_form_sent_twice_makes_one(
    client: httpx.AsyncClient, models: ScriptedModels
) -> None:
    assert await opened(client, form_key="k") == await opened(client, form_key="k")


async def test_a_refused_form_keeps_what_was_typed(
    client: httpx.AsyncClient, models: ScriptedModels
) -> None:
    answer = await client.post("/playground", data=FORM | {"max_turns": "201", "seed": "77"})
    assert answer.status_code == 422
    assert f"Turn limit is a whole number from 1 to {MAX_TURNS}" in answer.text
    assert 'value="77"' in answer.text
    gone = await client.post("/playground", data=FORM | {"lane-1": "gone maze-base"})
    assert gone.status_code == 422
    assert "There is no model maze-base at endpoint gone" in gone.text


async def test_a_model_that_knows_no_such_maze_is_refused_before_it_is_asked(
    client: httpx.AsyncClient, models: ScriptedModels
) -> None:
    models.maze_size = (9, 9)
    await opened(client)
    for values in ({"env_id": "maze_2d/hard"}, {"env_id": "custom", "height": "9", "width": "11"}):
        answer = await client.post("/playground", data=FORM | values)
        assert answer.status_code == 422
        page = parse(answer.text)
        assert page.labelled("Lane 1").attributes["aria-invalid"] == "true"
        assert "Only mazes of 9 × 9 cells are known to walker on Fake" in page.text
    assert models.models["walker"].requests == []


async def add_set(database: Database, project: Project, *, name: str, seeds: list[int]) -> None:
    wanted = NewSet(
        name=name, env_id="maze_2d/hard", seeds=seeds, max_turns=40, dialect=Dialect.TUPLE
    )
    checked = await sets.check(wanted)
    async with database.write() as session:
        await sets.create(session, project, checked, actor=ADA)


async def test_mazes_of_added_eval_sets_are_played_in_their_project(
    client: httpx.AsyncClient, models: ScriptedModels, page_database: Database
) -> None:
    async with page_database.write() as session:
        home = await projects.ensure_default(session)
        other = await projects.create(session, name="Elsewhere", actor=ADA)
    await add_set(page_database, other, name="mine", seeds=[7, 70])
    page = parse((await client.get("/playground")).text)
    words = [each.text for each in page.walk() if each.tag == "option"]
    assert "mine · 2 mazes · 40 turns · tuple" in words
    assert "easy-solvable-15 · 64 mazes · 15 turns · keyword" in words
    chosen = {"eval_set": "mine", "item": "2", "seed": ""}
    refused = await client.post("/playground", data=FORM | chosen | {"project": home.slug})
    assert refused.status_code == 422
    assert f"{home.name} has no eval set mine: choose the project" in parse(refused.text).text
    chosen["project"] = other.slug
    far = await client.post("/playground", data=FORM | chosen | {"item": "3"})
    assert far.status_code == 422
    assert "Item is a whole number from 1 to 2" in far.text
    url = await opened(client, **chosen)
    text = parse((await client.get(url)).text).text
    assert "Hard maze, seed 70" in text
    assert "40 allowed" in text
    assert "tuple dialect" in text


async def test_a_step_asks_each_model_once_however_often_it_is_sent(
    client: httpx.AsyncClient, models: ScriptedModels
) -> None:
    url = await opened(client)
    for _ in range(2):
        answer = await client.post(f"{url}/turns", data={"do": "step", "turn": "1"})
        assert (answer.status_code, answer.headers["location"]) == (303, url)
    assert len(models.models["walker"].requests) == 1
    assert "Turn 1: right" in (await client.get(url)).text


async def test_a_script_gets_the_stage_alone(
    client: httpx.AsyncClient, models: ScriptedModels
) -> None:
    url = await opened(client)
    sent = {"do": "move", "move": "up", "lane": "2", "turn": "1"}
    answer = await client.post(f"{url}/turns", data=sent, headers=PARTIAL)
    assert answer.status_code == 200
    assert answer.text.lstrip().startswith('<div id="stage"')
    assert "You: Turn 1: up, into a wall. 12 moves to the target. Open: right, down." in answer.text


async def test_what_cannot_be_done_now_is_said_and_nothing_is_lost(
    client: httpx.AsyncClient, models: ScriptedModels
) -> None:
    url = await opened(client, **{"lane-2": ""})
    await client.post(f"{url}/turns", data={"do": "stop"})
    again = await client.post(f"{url}/turns", data={"do": "step", "lane": "1", "turn": "1"})
    assert again.status_code == 409
    assert "Lane 1 is over" in again.text
    assert "Ended by a person" in again.text
    wrong = {"do": "move", "move": "sideways", "lane": "1", "turn": "1"}
    refused = await client.post(f"{url}/turns", data=wrong, headers=PARTIAL)
    assert refused.status_code == 200


async def test_a_failed_turn_says_why_and_is_tried_again(
    client: httpx.AsyncClient, models: ScriptedModels
) -> None:
    error = ModelError(ModelErrorKind.TIMED_OUT, "The endpoint gave no whole <answer>.")
    models.models["walker"] = ScriptedModel(error, "<action>right</action>")
    url = await opened(client)
    await client.post(f"{url}/turns", data={"do": "step", "turn": "1"})
    page = (await client.get(url)).text
    assert "The endpoint gave no whole &lt;answer&gt;." in page
    assert "Try turn 1 again" in page
    await client.post(f"{url}/turns", data={"do": "step", "lane": "1", "turn": "1"})
    assert "Turn 1: right" in (await client.get(url)).text


async def test_a_turn_of_the_past_is_shown(
    client: httpx.AsyncClient, page_database: Database
) -> None:
    url = await played(page_database, "right", "right", "down")
    page = (await client.get(url, params={"turn": 2})).text
    assert "<strong>10</strong> moves to the target" in page
    assert 'class="step later" data-turn="3"' in page
    assert (await client.get(url, params={"turn": 99})).status_code == 200
    assert (await client.get(url, params={"turn": -1})).status_code == 422


@pytest.mark.parametrize(("turn", "moves"), [(1, 0), (3, 2), (4, 3)])
async def test_the_picture_is_what_the_turn_was_asked_with(
    client: httpx.AsyncClient, page_database: Database, turn: int, moves: int
) -> None:
    url = await played(page_database, "right", "right", "down")
    answer = await client.get(f"{url}/pictures/1/{turn}.png")
    canvas = Canvas(generate(3))
    for cell in [(1, 2), (1, 3), (2, 3)][:moves]:
        canvas.move_to(cell)
    assert answer.content == canvas.png()
    assert "immutable" in answer.headers["cache-control"]
    assert (await client.get(f"{url}/pictures/1/5.png")).status_code == 404
    assert (await client.get(f"{url}/pictures/2/1.png")).status_code == 404


async def test_messages_are_those_that_were_sent(
    client: httpx.AsyncClient, page_database: Database
) -> None:
    url = await played(page_database, "right", "up", "down")
    page = (await client.get(f"{url}/messages", params={"lane": 1, "turn": 3})).text
    assert page.count('class="message"') == 5
    assert "You are navigating a 9x9 maze." in page
    assert "Cannot move into a wall." in page
    assert (await client.get(f"{url}/messages", params={"turn": 4})).status_code == 404


async def test_exports(client: httpx.AsyncClient, page_database: Database) -> None:
    url = await played(page_database, "right", "right", "down")
    answer = await client.get(f"{url}/export.json")
    stored = json.loads(answer.content)
    assert [turn["action"] for turn in stored["lanes"][0]["turns"]] == [
        "('move', 0)",
        "('move', 0)",
        "('move', 3)",
    ]
    gif = await client.get(f"{url}/export.gif")
    frames = ImageSequence.Iterator(Image.open(io.BytesIO(gif.content)))
    assert len(list(frames)) == 4
    for each in (answer, gif):
        assert each.headers["content-disposition"].startswith("attachment; filename=")
    assert (await client.get(f"{url}/export.exe")).status_code == 404


async def test_a_branch_and_an_episode_like_it(
    client: httpx.AsyncClient, page_database: Database
) -> None:
    url = await played(page_database, "right", "right", "down")
    answer = await client.post(f"{url}/fork", data={"turn": "2"})
    branch = answer.headers["location"]
    page = (await client.get(branch)).text
    assert f'href="{url}?turn=2"' in page
    assert 'data-last="2"' in page
    assert branch in (await client.get(url)).text
    form = (await client.get("/playground", params={"from": url.rpartition("/")[2]})).text
    assert 'name="seed" value="3"' in form
    assert (await client.post(f"{url}/fork", data={"turn": "9"})).status_code == 422


async def test_a_shared_episode_is_read_and_nothing_more(
    client: httpx.AsyncClient, page_database: Database
) -> None:
    url = await played(page_database, "right", "right")
    made = await client.post(f"{url}/share", data={"life": "1 day"})
    assert made.status_code == 201
    path = made.text.partition("/shared/")[2].partition("<")[0]
    client.cookies.clear()
    page = await client.get(f"/shared/{path}", params={"turn": 1})
    assert "<strong>11</strong> moves to the target" in page.text
    assert "ada" not in page.text.replace("data", "").lower()
    assert "On this machine" not in page.text
    assert page.headers["referrer-policy"] == "no-referrer"
    part = await client.get(f"/shared/{path}", headers=PARTIAL)
    assert part.text.lstrip().startswith('<div id="stage"')
    assert part.headers["cache-control"] == "no-store"
    picture = await client.get(f"/shared/{path}/pictures/1/1.png")
    assert picture.headers["content-type"] == "image/png"
    assert (await client.post(f"/shared/{path}/turns")).status_code in (404, 405)
    assert (await client.get(f"/shared/{path}/points")).status_code == 404
