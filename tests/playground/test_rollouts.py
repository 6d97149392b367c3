"""Pages of episodes that a run played while training."""

import httpx

from app.db import Database
from app.models import Run
from tests.episodes.factories import add_rollouts, solution, wall
from tests.factories import make_external_run

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


async def test_the_runs_mazes_lead_to_their_episodes(
    client: httpx.AsyncClient, database: Database
) -> None:
    run = await played(database)
    page = (await client.get(f"/runs/{run.slug}")).text
    for number in (1, 2):
        assert f'href="/runs/{run.slug}/attempts/1/evaluations/7/{number}"' in page
