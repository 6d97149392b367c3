"""What a config was typed as is kept with its comments, on both databases."""

from pathlib import Path

import pytest
from sqlalchemy.exc import InvalidRequestError

from app.db import Database
from app.errors import Invalid
from app.experiments import service
from app.models import Config, Experiment
from app.projects import service as projects
from app.recipes import service as recipes
from app.runs import service as runs
from app.secrets import service as secrets
from tests.factories import ADA, RECIPE, make_experiment
from tests.secrets.conftest import with_keys

SEED = "trainer.seed"
FIRST = "# why 3: see the paper\ntrainer:\n  seed: 3   # not 4\n"
SECOND = "# why 3: because\ntrainer.seed: 3\n"


async def save(
    database: Database, experiment: Experiment, yaml: str | None, seed: int = 3
) -> tuple[Config, bool]:
    async with database.write() as session:
        mine = await service.get(session, experiment.slug)
        return await service.add_version(session, mine, {SEED: seed}, actor=ADA, yaml=yaml)


async def texts(database: Database, experiment: Experiment) -> list[str | None]:
    """Of all versions, the newest first."""
    async with database.read() as session:
        page = await service.list_versions(session, experiment)
        return [await service.find_yaml(session, config) for config, _ in page.items]


@pytest.fixture
async def experiment(database: Database) -> Experiment:
    async with database.write() as session:
        return await make_experiment(session, config={SEED: 3})


async def test_comments_are_kept_to_the_byte_and_no_part_of_the_digest(
    database: Database, experiment: Experiment
) -> None:
    first, is_new = await save(database, experiment, FIRST)
    assert (first.version, is_new) == (2, True)
    assert await texts(database, experiment) == [FIRST, None]
    async with database.read() as session:
        before = await service.get_version(session, experiment, 1)
        _, _, changes = await service.compare(session, experiment, 1, 2)
    assert before.digest == first.digest
    assert changes == []


async def test_new_comments_make_a_version_and_old_ones_stay(
    database: Database, experiment: Experiment
) -> None:
    await save(database, experiment, FIRST)
    again, is_new = await save(database, experiment, FIRST)
    assert (again.version, is_new) == (2, False)
    assert (await save(database, experiment, None))[1] is False
    assert (await save(database, experiment, SECOND))[1] is True
    assert await texts(database, experiment) == [SECOND, FIRST, None]


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        ("trainer.seed: 4\n", "means another config"),
        ("recipe: command\ntrainer.seed: 3\n", "means another config"),
        ("trainer.seed: [3\n", "cannot be read"),
        (f"trainer.seed: 3\n#{'x' * recipes.LONGEST_DOCUMENT}\n", "characters, at most"),
        ("trainer.seed: 3\n# \0\n", "cannot be read"),
    ],
)
async def test_a_text_that_is_not_the_config_is_refused(
    database: Database, experiment: Experiment, yaml: str, words: str
) -> None:
    with pytest.raises(Invalid, match=words) as caught:
        await save(database, experiment, yaml)
    assert [each.field for each in caught.value.problems] == ["yaml"]
    assert await texts(database, experiment) == [None]


async def test_a_text_alone_says_all(database: Database, experiment: Experiment) -> None:
    async with database.write() as session:
        mine = await service.get(session, experiment.slug)
        made, _ = await service.add_version(
            session, mine, None, actor=ADA, yaml="trainer.seed: 9 # new\n"
        )
    assert made.values[SEED] == 9
    assert await texts(database, experiment) == ["trainer.seed: 9 # new\n", None]


async def test_a_secret_in_a_comment_is_refused(
    database: Database, experiment: Experiment, tmp_path: Path
) -> None:
    with_keys(database, tmp_path / "secret.keys")
    async with database.write() as session:
        home = experiment.project_id
        await secrets.put(session, home, "WANDB_API_KEY", "hunter2-and-more", actor=ADA)
    with pytest.raises(Invalid, match="WANDB_API_KEY") as caught:
        await save(database, experiment, "# hunter2-and-more\ntrainer.seed: 3\n")
    assert "hunter2" not in str(caught.value.problems)


async def test_a_fork_takes_the_comments_along(database: Database, experiment: Experiment) -> None:
    await save(database, experiment, FIRST)
    async with database.write() as session:
        mine = await service.get(session, experiment.slug)
        fork = await service.fork(session, mine, project=mine.project, actor=ADA)
    assert await texts(database, fork) == [FIRST]


async def test_a_first_version_and_a_run_of_its_own_config_have_a_text(database: Database) -> None:
    async with database.write() as session:
        home = await projects.ensure_default(session)
        made = await service.create(
            session,
            name="typed",
            recipe=RECIPE,
            config={SEED: 3},
            actor=ADA,
            project=home,
            yaml=FIRST,
        )
        whole = recipes.resolve(RECIPE, {SEED: 4})
        run = await runs.create(
            session, made, actor=ADA, config=whole, yaml="trainer.seed: 4 # mine\n"
        )
    assert await texts(database, made) == [FIRST]
    async with database.read() as session:
        found = await runs.get(session, run.slug)
        assert await service.find_yaml(session, found.config) == "trainer.seed: 4 # mine\n"
        with pytest.raises(InvalidRequestError):
            # Nobody carries the texts along by mistake.
            _ = found.config.yaml
