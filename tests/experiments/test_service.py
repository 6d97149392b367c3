import pytest
from sqlalchemy import func, select

from app.db import Database
from app.errors import Invalid, NotFound
from app.experiments import service
from app.models import Config, Project
from tests.factories import RECIPE, make_experiment


async def test_a_new_experiment_has_version_1_with_all_values(database: Database) -> None:
    async with database.write() as session:
        experiment = await make_experiment(session, config={"trainer.seed": 3})
    async with database.read() as session:
        config = await service.newest_config(session, experiment)
    assert config is not None
    assert (config.version, config.recipe) == (1, RECIPE)
    assert config.values["trainer.seed"] == 3
    assert len(config.values) > 5


async def test_the_default_project_is_made_once(database: Database) -> None:
    async with database.write() as session:
        await make_experiment(session)
        await make_experiment(session)
        assert await session.scalar(select(func.count(Project.id))) == 1


async def test_a_refused_config_leaves_no_experiment(database: Database) -> None:
    async def make() -> None:
        async with database.write() as session:
            await make_experiment(session, config={"trainer.sed": 3})

    with pytest.raises(Invalid) as caught:
        await make()
    assert caught.value.problems[0].field == "trainer.sed"
    async with database.read() as session:
        assert (await service.list_page(session, projects=None)).items == []
        assert await session.scalar(select(func.count(Config.id))) == 0


@pytest.mark.parametrize("name", ["", "   ", "x" * 201, "two\nlines", "nul\x00"])
async def test_a_strange_name_is_refused(sqlite_database: Database, name: str) -> None:
    async with sqlite_database.write() as session:
        with pytest.raises(Invalid, match="printable"):
            await make_experiment(session, name=name)


async def test_unknown_experiments_are_not_found(sqlite_database: Database) -> None:
    async with sqlite_database.read() as session:
        with pytest.raises(NotFound):
            await service.get(session, "exp-none")


async def test_pages_show_each_experiment_once_newest_first(database: Database) -> None:
    async with database.write() as session:
        made = [(await make_experiment(session, name=f"e{i}")).slug for i in range(5)]
    seen: list[str] = []
    cursor = None
    async with database.read() as session:
        while True:
            page = await service.list_page(session, projects=None, limit=2, cursor=cursor)
            seen += [row.slug for row in page.items]
            if (cursor := page.next_cursor) is None:
                break
    assert seen == made[::-1]


def test_the_digest_depends_on_values_and_not_on_their_order() -> None:
    one = service.digest(RECIPE, 1, {"a": 1, "b": [1, 2]})
    assert one == service.digest(RECIPE, 1, {"b": [1, 2], "a": 1})
    assert one != service.digest(RECIPE, 1, {"a": 1, "b": [2, 1]})
    assert one != service.digest(RECIPE, 2, {"a": 1, "b": [1, 2]})
