"""Pages of episodes that a run played while training."""

from urllib.parse import parse_qs, urlsplit

import httpx

from app.adapters import service as adapters
from app.db import Database
from app.models import Run
from tests.episodes.factories import add_rollouts, solution, wall
from tests.factories import make_external_run, make_promotion, make_run
from tests.web.html import parse

PARTIAL = {"HX-Request": "true", "HX-Request-Type": "partial"}


async def played(database: Database, *, counted: list[bool] | None = None) -> Run:
    async with database.write() as session:
        run = await make_external_run(session, name="tuesday")
        await add_rollouts(session, run, solution(), [wall()] * 15, counted=counted)
        return run


async def test_an_episode_is_looked_through_turn_by_turn(
    client: httpx.AsyncClient, database: Database
) -> None:
    run = await played(database)
    url = f"/runs/{run.slug}/attempts/1/evaluations/7/1"
    page = (await client.get(url)).text
    assert "Easy maze, seed 0" in page
    assert "The run counted it as</dt><dd>solved" in page
    assert f'href="/runs/{run.slug}/attempts/1/evaluations/7/2"' in page
    assert "Episode before" not in page
    assert "Force a move" not in page
    assert "another maze" not in page
    second = (await client.get(f"{url}?turn=2", headers=PARTIAL)).text
    assert second.lstrip().startswith('<div id="stage"')
    assert "Turn 2: " in second
    picture = await client.get(f"{url}/pictures/1/2.png")
    assert picture.headers["content-type"] == "image/png"
    for missing in (f"{url}/pictures/1/99.png", f"{url}/pictures/2/1.png", f"{url[:-1]}3"):
        assert (await client.get(missing)).status_code == 404


async def test_it_is_said_where_run_and_maze_differ(
    client: httpx.AsyncClient, database: Database
) -> None:
    run = await played(database, counted=[True, True])
    page = (await client.get(f"/runs/{run.slug}/attempts/1/evaluations/7/2")).text
    assert "The run counted it as</dt><dd>solved" in page
    assert "The run counted this episode as solved; rebuilt here, not." in page


async def test_its_maze_is_played_with_the_adapter_that_was_promoted(
    client: httpx.AsyncClient, database: Database
) -> None:
    async with database.write() as session:
        run = await make_run(session)
        await add_rollouts(session, run, solution(), [wall()] * 15)
    url = f"/runs/{run.slug}/attempts/1/evaluations/7/2"
    alone = parse((await client.get(url)).text).one("link", "Play this maze")
    query = parse_qs(urlsplit(alone.attributes["href"]).query)
    assert query == {
        "env_id": ["maze_2d/easy"],
        "seed": ["1"],
        "max_turns": ["15"],
        "dialect": ["keyword"],
    }
    async with database.write() as session:
        for step, name in ((7, "mine"), (9, "later")):
            await make_promotion(session, run, step, name=name)
    for step, name in ((7, "mine"), (9, "later")):
        models = await beside_base(database, run, step)
        assert models == ["embedded maze-base", f"embedded maze-base:{name}"]
    assert await beside_base(database, run, 8) == ["embedded maze-base", "embedded maze-base:later"]
    pair = parse((await client.get(url)).text).one("link", "Play base and adapter here")
    query = parse_qs(urlsplit(pair.attributes["href"]).query)
    assert query["model"] == ["embedded maze-base", "embedded maze-base:mine"]
    assert query["seed"] == ["1"]


async def beside_base(database: Database, run: Run, step: int) -> list[str]:
    async with database.read() as session:
        return await adapters.list_beside_base(session, run, step=step, attempt=1)


async def test_the_grid_says_what_training_has_changed(
    client: httpx.AsyncClient, database: Database
) -> None:
    run = await played(database, counted=[True, False])
    before = parse((await client.get(f"/runs/{run.slug}/mazes")).text)
    assert "before training" not in before.text
    async with database.write() as session:
        await add_rollouts(session, run, solution(), [wall()] * 15, step=0, counted=[False, True])
    page = parse((await client.get(f"/runs/{run.slug}/mazes")).text)
    labels = [
        each.attributes["aria-label"] for each in page.walk() if "aria-label" in each.attributes
    ]
    assert "Maze 0: solved in 13 turns, not solved before training: look through it" in labels
    assert "Maze 1: not solved in 15 turns, solved before training: look through it" in labels
    assert "1 gained: not solved before training" in page.text
    assert "1 lost: solved before training" in page.text


async def test_the_runs_mazes_lead_to_their_episodes(
    client: httpx.AsyncClient, database: Database
) -> None:
    run = await played(database)
    page = (await client.get(f"/runs/{run.slug}")).text
    for number in (1, 2):
        assert f'href="/runs/{run.slug}/attempts/1/evaluations/7/{number}"' in page
