"""Config versions, changes, forks and the archive, on both databases."""

import pytest
from sqlalchemy import select

from app.access.principal import Actor
from app.audit.actions import Action
from app.db import Database
from app.errors import Conflict, Invalid, NotFound
from app.experiments import service
from app.models import AuditEntry, Experiment
from app.projects import service as projects
from app.runs import service as runs
from tests.factories import ADA, RECIPE, make_experiment, make_external_run, make_run
from tests.queries import QueryCounter

BEN = Actor("ben", "user:ben")
SEED, STEPS = "trainer.seed", "trainer.max_training_steps"


@pytest.fixture
async def experiment(database: Database) -> Experiment:
    async with database.write() as session:
        return await make_experiment(session, config={SEED: 1})


async def actions(database: Database) -> list[str]:
    async with database.read() as session:
        query = select(AuditEntry.action).where(AuditEntry.object_kind == "experiment")
        return list(await session.scalars(query.order_by(AuditEntry.id)))


async def add(database: Database, experiment: Experiment, **options: object) -> tuple[int, bool]:
    async with database.write() as session:
        mine = await service.get(session, experiment.slug)
        values = {SEED: 1} | dict(options.pop("values", {}))  # type: ignore[call-overload]
        config, is_new = await service.add_version(session, mine, values, actor=BEN, **options)  # type: ignore[arg-type]
        return config.version or 0, is_new


async def test_a_version_is_added_and_says_what_it_changed(
    database: Database, experiment: Experiment
) -> None:
    assert await add(database, experiment, values={STEPS: 20}) == (2, True)
    assert await add(database, experiment, values={STEPS: 20, SEED: 4}) == (3, True)
    async with database.read() as session:
        page = await service.list_versions(session, experiment)
        first = await service.get_version(session, experiment, 1)
    assert [(c.version, c.created_by) for c, _ in page.items] == [
        (3, "ben"),
        (2, "ben"),
        (1, "ada"),
    ]
    seen = [[(each.key, each.before, each.after) for each in changes] for _, changes in page.items]
    assert seen == [[(SEED, 1, 4)], [(STEPS, 280, 20)], []]
    assert (first.values[SEED], first.values[STEPS]) == (1, 280)
    assert await actions(database) == ["experiment.create", *["experiment.version"] * 2]


async def test_the_same_digest_makes_no_version_but_going_back_does(
    database: Database, experiment: Experiment
) -> None:
    assert await add(database, experiment) == (1, False)
    assert await add(database, experiment, values={STEPS: 280}) == (1, False)
    assert await add(database, experiment, values={STEPS: 20}) == (2, True)
    assert await add(database, experiment) == (3, True)
    async with database.read() as session:
        _, _, changes = await service.compare(session, experiment, 1, 3)
        assert changes == []
        _, _, changes = await service.compare(session, experiment, 2, 1)
        assert [(each.before, each.after) for each in changes] == [(20, 280)]
        with pytest.raises(NotFound, match="no version 9"):
            await service.compare(session, experiment, 1, 9)


async def test_a_version_after_a_stale_one_is_refused(
    database: Database, experiment: Experiment
) -> None:
    assert await add(database, experiment, values={STEPS: 20}, after=1) == (2, True)
    with pytest.raises(Conflict, match="version 2 of experiment"):
        await add(database, experiment, values={STEPS: 30}, after=1)
    with pytest.raises(Invalid, match="is of recipe embedded-maze-grpo"):
        await add(database, experiment, recipe="command")
    with pytest.raises(Invalid) as caught:
        await add(database, experiment, values={"trainer.sed": 1})
    assert caught.value.problems[0].field == "trainer.sed"
    async with database.read() as session:
        assert len((await service.list_versions(session, experiment)).items) == 2


async def test_the_first_version_of_an_experiment_without_one(database: Database) -> None:
    async with database.write() as session:
        run = await make_external_run(session)
        home = run.experiment
    with pytest.raises(Invalid, match="name the recipe"):
        await add(database, home)
    assert await add(database, home, recipe=RECIPE, after=0) == (1, True)


async def test_pages_of_versions_keep_what_each_changed(
    database: Database, experiment: Experiment, count_queries: QueryCounter
) -> None:
    for steps in (20, 30, 40, 50):
        await add(database, experiment, values={STEPS: steps})
    seen, cursor = [], None
    async with database.read() as session:
        while True:
            with count_queries(database) as counted:
                page = await service.list_versions(session, experiment, limit=2, cursor=cursor)
            assert counted.count == 1
            seen += [(c.version, [e.before for e in changes]) for c, changes in page.items]
            if (cursor := page.next_cursor) is None:
                break
        with pytest.raises(Invalid, match="start again"):
            await service.list_versions(session, experiment, cursor="bm9uc2Vuc2U")
    assert seen == [(5, [40]), (4, [30]), (3, [20]), (2, [280]), (1, [])]


async def test_runs_tell_which_version_they_used(
    database: Database, experiment: Experiment
) -> None:
    await add(database, experiment, values={STEPS: 20})
    async with database.write() as session:
        await make_run(session, experiment=experiment)
        old = await runs.create(session, experiment, actor=ADA, version=1)
        mixed = await runs.create(session, experiment, actor=ADA, version=1, overrides={SEED: 9})
        with pytest.raises(NotFound, match="no version 7"):
            await runs.create(session, experiment, actor=ADA, version=7)
    assert (old.config.version, old.config.values[STEPS]) == (1, 280)
    assert (mixed.config.version, mixed.config.base_version) == (None, 1)
    assert (mixed.config.values[SEED], mixed.config.created_by) == (9, "ada")
    async with database.read() as session:
        assert await runs.count_by_version(session, experiment) == {1: 2, 2: 1}


async def test_an_edit_of_what_has_changed_since_is_refused(
    database: Database, experiment: Experiment
) -> None:
    async with database.write() as session:
        mine = await service.get(session, experiment.slug)
        edit = service.Edit(
            name="Rank?", hypothesis="*Less* is enough", tags=["a", "a"], revision=1
        )
        assert (await service.change(session, mine, edit, actor=BEN)).tags == ["a"]
        assert mine.revision == 2
        again = service.Edit(name="Rank?", revision=2)
        assert (await service.change(session, mine, again, actor=BEN)).revision == 2
        with pytest.raises(Conflict, match="was changed since"):
            await service.change(session, mine, service.Edit(tags=[], revision=1), actor=ADA)
    assert await actions(database) == ["experiment.create", "experiment.change"]


async def test_a_fork_starts_with_the_same_config_and_keeps_its_origin(
    database: Database, experiment: Experiment
) -> None:
    await add(database, experiment, values={STEPS: 20})
    async with database.write() as session:
        mine = await service.get(session, experiment.slug)
        made = await service.fork(session, mine, project=mine.project, actor=BEN, version=1)
    async with database.read() as session:
        fork = await service.get(session, made.slug)
        config = await service.get_version(session, fork)
        origin = await service.get_version(session, experiment, 1)
        assert (config.version, config.digest, config.created_by) == (1, origin.digest, "ben")
        assert fork.forked_from is not None
        assert (fork.forked_from.slug, fork.forked_version) == (experiment.slug, 1)
        assert fork.name == "Does rank matter? (fork)"
        forks = await service.list_forks(session, experiment, projects=None)
        assert [each.slug for each in forks] == [fork.slug]
        assert not await service.list_forks(session, experiment, projects=frozenset())
    assert (await actions(database))[-1] == Action.EXPERIMENT_FORK


async def test_an_archived_experiment_takes_nothing_new(
    database: Database, experiment: Experiment
) -> None:
    async with database.write() as session:
        mine = await service.get(session, experiment.slug)
        await service.archive(session, mine, actor=BEN)
        await service.archive(session, mine, actor=BEN)
        home = await projects.ensure_default(session)
        assert await service.find_by_name(session, home, mine.name) is None
        with pytest.raises(Conflict, match="restore it first"):
            await make_run(session, experiment=mine)
    with pytest.raises(Conflict, match="restore it first"):
        await add(database, experiment, values={STEPS: 20})
    async with database.write() as session:
        assert not (await service.list_page(session, projects=None)).items
        archived = await service.list_page(session, projects=None, is_archived=True)
        assert [each.slug for each in archived.items] == [experiment.slug]
        mine = await service.get(session, experiment.slug)
        await service.restore(session, mine, actor=BEN)
        await make_run(session, experiment=mine)
    assert await actions(database) == [
        "experiment.create",
        "experiment.archive",
        "experiment.restore",
    ]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ({"text": "RANK"}, ["Does rank matter?"]),
        ({"text": "100 %"}, ["odd"]),
        ({"text": "nothing"}, []),
        ({"tag": 'a "b" é%'}, ["odd"]),
        ({"tag": "a"}, []),
    ],
)
async def test_the_list_is_searched(
    database: Database, experiment: Experiment, words: dict[str, str], found: list[str]
) -> None:
    async with database.write() as session:
        odd = await make_experiment(session, name="odd")
        edit = service.Edit(hypothesis="gains 100 %", tags=['a "b" é%'])
        await service.change(session, odd, edit, actor=ADA)
    async with database.read() as session:
        page = await service.list_page(session, projects=None, **words)  # type: ignore[arg-type]
    assert [each.name for each in page.items] == found
