"""Links that share an episode: by the API, by the same rules as a run's."""

import httpx
import pytest
from sqlalchemy import select

from app.access.permissions import Scope
from app.clock import utcnow
from app.db import Database
from app.episodes import service as episodes
from app.errors import Invalid, NotFound
from app.models import ShareLink
from app.projects import service as projects
from app.runs import service as runs
from app.sharing import service
from tests.api.helpers import V1, bearer, make_token
from tests.factories import ADA, make_run
from tests.playground.factories import add_episode, said


async def episode_in(database: Database) -> str:
    async with database.write() as session:
        home = await projects.ensure_default(session)
        return (await add_episode(session, home.id, said("right"))).slug


async def test_the_api_makes_lists_and_revokes(api: httpx.AsyncClient, database: Database) -> None:
    slug = await episode_in(database)
    headers = bearer(await make_token(database, Scope.WRITE))
    made = await api.post(f"{V1}/episodes/{slug}/shares", json={"days": 1}, headers=headers)
    assert made.status_code == 201
    secret = made.json()["url"].rpartition("/")[2]
    async with database.read() as session:
        found = await service.find_shared_episode(session, secret)
        assert found is not None
        assert found[1] == slug
        assert await service.find_shared(session, secret) is None
    listed = (await api.get(f"{V1}/episodes/{slug}/shares", headers=headers)).json()["items"]
    assert [each["id"] for each in listed] == [made.json()["id"]]
    path = f"{V1}/episodes/{slug}/shares/{made.json()['id']}"
    assert (await api.delete(path, headers=headers)).status_code == 204
    async with database.read() as session:
        assert await service.find_shared_episode(session, secret) is None


async def test_a_link_of_a_run_opens_no_episode_and_ends_no_link_of_one(
    database: Database,
) -> None:
    slug = await episode_in(database)
    async with database.write() as session:
        run, episode = await make_run(session), await episodes.get(session, slug)
        _, of_run = await service.create(session, run, actor=ADA)
        link, secret = await service.create(session, episode, actor=ADA)
        with pytest.raises(NotFound):
            await service.revoke(session, run, link.slug, actor=ADA)
    async with database.read() as session:
        assert await service.find_shared_episode(session, of_run) is None
        assert await service.find_shared_episode(session, secret) is not None
        run = await runs.get(session, run.slug)
        assert [each.episode_id for each in await service.list_open(session, run)] == [None]


async def test_it_runs_out_and_ends_with_its_episode(database: Database) -> None:
    slug = await episode_in(database)
    async with database.write() as session:
        episode = await episodes.get(session, slug)
        link, secret = await service.create(session, episode, actor=ADA, days=1)
        with pytest.raises(Invalid):
            await service.create(session, episode, actor=ADA, days=2)
    async with database.read() as session:
        assert await service.find_shared_episode(session, secret, link.expires_at) is None
        assert await service.find_shared_episode(session, secret, utcnow()) is not None
    async with database.write() as session:
        await episodes.delete(session, await episodes.get(session, slug), actor=ADA)
    async with database.read() as session:
        assert (await session.scalars(select(ShareLink))).all() == []
