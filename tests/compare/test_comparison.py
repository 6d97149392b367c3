"""What is said of compared runs, on both databases."""

from collections.abc import Iterable

import pytest

from app.compare import service
from app.compare.asked import BY_SEED, Asked, At, letter_of
from app.compare.comparison import Comparison
from app.db import Database
from app.errors import Invalid, NotFound
from app.models import Run
from app.projects import service as projects
from app.runs import service as runs
from tests.compare.factories import add_evaluation, make_compared
from tests.factories import ADA, make_run
from tests.queries import QueryCounter


async def compared(database: Database, made: Iterable[Run], **asked: object) -> Comparison:
    slugs = tuple(run.slug for run in made)
    return await service.compare(database, Asked(slugs, **asked))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("number", "letter"), [(0, "A"), (25, "Z"), (26, "AA"), (99, "CV"), (701, "ZZ"), (702, "AAA")]
)
def test_letters_of_runs(number: int, letter: str) -> None:
    assert letter_of(number) == letter


async def test_the_sentence_about_two_runs(database: Database) -> None:
    async with database.write() as session:
        before = await make_compared(session, "base", solved={0: range(10), 20: range(51)})
        after = await make_compared(session, "tuned", solved={20: [*range(1, 51), *range(51, 63)]})
    found = await compared(database, [before, after])

    assert found.significance() == (
        "B solves 11 more of 64 mazes than A (12 gained, 1 lost); McNemar p = 0.003"
    )


async def test_last_and_best_evaluations_stand_for_a_run(database: Database) -> None:
    async with database.write() as session:
        run = await make_compared(session, "up and down", solved={0: [], 10: range(40), 20: [1]})
        other = await make_compared(session, "none")
    found = await compared(database, [run, other], at=At.BEST)
    each = found.runs[0]

    assert each.last is not None
    assert each.best is not None
    assert (each.last.step, each.last.solved) == (20, 1)
    assert (each.best.step, each.best.solved, each.evaluation_count) == (10, 40, 3)
    assert found.evaluation(each) is each.best
    assert found.runs[1].last is None
    assert found.significance() == "No test: B has no evaluation whose mazes are known"


async def test_what_a_newer_attempt_did_again_does_not_count(database: Database) -> None:
    async with database.write() as session:
        run = await make_compared(session, "resumed", solved={0: [], 10: range(20), 20: range(64)})
        other = await make_compared(session, "other", solved={0: []})
        add_evaluation(session, run, 20, range(30), attempt=2)
        add_evaluation(session, run, 30, range(25), attempt=2)
    found = (await compared(database, [run, other])).runs[0]

    assert found.best is not None
    assert found.last is not None
    assert (found.best.step, found.best.solved) == (20, 30)
    assert (found.last.step, found.evaluation_count) == (30, 4)


async def test_other_terms_are_not_tested_against(database: Database) -> None:
    async with database.write() as session:
        one = await make_compared(session, "15 turns", solved={0: range(9)})
        two = await make_compared(session, "18 turns")
        add_evaluation(session, two, 0, range(30), max_turns=18)
        three = await make_compared(session, "four samples")
        add_evaluation(session, three, 0, range(30), samples=4)
    found = await compared(database, [one, two, three])

    assert [each.pairs for each in found.against] == [None, None]
    assert found.against[0].reason == "B played another environment or turn limit"
    assert "several times" in found.against[1].reason
    assert found.tests == 0


async def test_many_tests_are_corrected(database: Database) -> None:
    async with database.write() as session:
        made = [await make_compared(session, "base", solved={0: range(20)})]
        for extra in (6, 6, 6, 20):
            made.append(await make_compared(session, "b", solved={0: range(20 + extra)}))
    found = await compared(database, made)
    first = found.against[0]

    assert first.pairs is not None
    assert first.pairs.p_value < 0.05 < first.adjusted
    assert found.significance() == (
        "Against A, 1 of 4 runs did better and 0 worse, by McNemar's exact test with Holm's "
        "correction at 5 %"
    )


async def test_pass_at_k_is_no_solve_rate(database: Database) -> None:
    async with database.write() as session:
        one = await make_compared(session, "one sample")
        add_evaluation(session, one, 0, range(10), passed=range(30))
        four = await make_compared(session, "four samples")
        add_evaluation(session, four, 0, range(10), samples=4)
    first, second = (await compared(database, [one, four])).runs

    assert first.last is not None
    assert second.last is not None
    assert first.last.solve_rate == pytest.approx(10 / 64)
    assert first.last.pass_at(1) == pytest.approx(30 / 64)
    assert first.last.pass_at(2) is None
    # One of four samples passed: pass_at_1 is a quarter, pass_at_4 all of them.
    assert second.last.pass_at(1) == pytest.approx(10 / 64 / 4)
    assert second.last.pass_at(4) == pytest.approx(10 / 64)


async def test_runs_that_differ_by_their_seed_alone_are_a_group(database: Database) -> None:
    async with database.write() as session:
        made = [
            await make_compared(session, "r", config={"lr": lr, "trainer": {"seed": seed}})
            for lr in (1e-6, 0.00001)
            for seed in range(3)
        ]
        made.append(await make_compared(session, "r", config={"lr": 1e-5, "trainer": {"seed": 9}}))
    found = await compared(database, made)

    assert found.grouped_by == BY_SEED
    assert [(group.label, group.members) for group in found.groups] == [
        ("lr 1e-06", (0, 1, 2)),
        ("lr 1e-05", (3, 4, 5, 6)),
    ]


async def test_groups_by_tag_experiment_and_key(database: Database) -> None:
    async with database.write() as session:
        made = [
            await make_compared(session, "a", tags=["x", "y"], config={"k": "1"}, experiment="one"),
            await make_compared(session, "b", tags=["y"], config={"k": 1}, experiment="two"),
            await make_compared(session, "c", config={"k": 1.0}, experiment="one"),
        ]

    async def groups(by: str) -> list[tuple[str, tuple[int, ...]]]:
        found = await compared(database, made, group=by)
        return [(group.label, group.members) for group in found.groups]

    assert await groups("tag") == [("x", (0,)), ("y", (0, 1)), ("no tag", (2,))]
    assert await groups("experiment") == [("one", (0, 2)), ("two", (1,))]
    # Text and number look alike and are not.
    assert await groups("config:k") == [("k 1", (0,)), ("k 1", (1, 2))]
    assert await groups("none") == []


async def test_gpu_hours_count_all_attempts_of_what_we_run(database: Database) -> None:
    async with database.write() as session:
        ours = await make_run(session)
        theirs = await make_compared(session, "external")
    found = await compared(database, [ours, theirs])

    assert (found.runs[0].gpus, found.runs[0].gpu_seconds) == (0, 0.0)
    assert (found.runs[1].gpus, found.runs[1].gpu_seconds) == (None, None)


async def test_only_two_to_a_hundred_runs(database: Database) -> None:
    with pytest.raises(Invalid, match="not 1"):
        await service.compare(database, Asked(("run-a",)))
    with pytest.raises(Invalid, match="not 101"):
        await service.compare(database, Asked(tuple(f"run-{n}" for n in range(101))))
    with pytest.raises(NotFound, match="run-a"):
        await service.compare(database, Asked(("run-a", "run-b")))


async def test_queries_do_not_grow_with_the_runs(
    database: Database, count_queries: QueryCounter
) -> None:
    async with database.write() as session:
        made = [
            await make_compared(
                session, f"r{n}", solved={0: [n], 9: range(n)}, series={"loss": [1.0, 0.5]}
            )
            for n in range(8)
        ]
    with count_queries(database) as counted:
        await compared(database, made)

    assert counted.count == 3


async def test_metrics_of_most_runs_are_known_and_the_one_asked_for(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MAX_KEYS", 2)
    async with database.write() as session:
        made = [
            await make_compared(session, "a", series={"x": [1.0], "y": [1.0], "rare": [3.0]}),
            await make_compared(session, "b", series={"x": [2.0], "y": [1.0], "other": [1.0]}),
        ]
    found = await compared(database, made, metric="rare")

    assert found.keys == ["x", "y", "rare"]
    assert found.values() == [3.0, None]


async def test_an_evaluation_of_any_quality_is_read(database: Database) -> None:
    async with database.write() as session:
        home = await projects.ensure_default(session)
        run = await runs.create_external(session, project=home, name="odd", actor=ADA)
        other = await make_compared(session, "fine", solved={0: [1]})
        row = add_evaluation(session, run, 0, [1, 2])
        row.items = [{}, {"seed": "x", "reward": None}, {"seed": 3, "solved": 1, "reward": True}]
    found = (await compared(database, [run, other])).runs[0].last

    assert found is not None
    assert (dict(found.is_solved), found.returns) == ({3: True}, ())
