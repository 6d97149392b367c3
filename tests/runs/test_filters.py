"""The filter language and the orders of the runs table, on both databases."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.clock import utcnow
from app.db import Database
from app.errors import Invalid
from app.metrics.columns import Columns
from app.metrics.ingest import ingest_columns
from app.models import Run, RunStatus
from app.projects import service as projects
from app.runs import filter_sql
from app.runs import service as runs
from app.runs.filter_language import conditions_of, parse, quoted
from app.runs.listing import Wanted, list_places
from app.runs.table import group, list_rows, parse_columns, search_names
from tests.factories import ADA
from tests.queries import QueryCounter

SCORE, LOSS = "eval/all/pass_at_1", "policy/loss"
COUNT = 7


FILTERS = [
    ("", "6543210"),
    ("status = failed", "2"),
    ("status != failed", "654310"),
    ("status in (failed, lost) or name = r6", "62"),
    ('tag = "lora"', "210"),
    ('tag != "lora"', "6543"),
    ('tag = "nothing"', ""),
    ('tag in ("t1", "t2")', "21"),
    (f'metric("{SCORE}").best >= 0.3', "543"),
    (f'metric("{SCORE}") < 0.1', "10"),
    (f'metric("{LOSS}").best = 0', "0"),
    (f'metric("{SCORE}").best_step = 1 and metric("{SCORE}").count = 2', "543210"),
    (f'not metric("{SCORE}").best >= 0.3', "6210"),
    ('metric("unknown").last > 0', ""),
    ('not metric("unknown").last > 0', "6543210"),
    ('config("lr") <= 1e-3', "643"),
    ('config("model") = "qwen-1"', "31"),
    ('config("model") ~ "QWEN" and config("seed") > 2', "64"),
    ('config("seed") = "three"', "3"),
    ('config("lora") = true', "6420"),
    ('config("seed") in (1, 2, "three")', "321"),
    ('config("unknown") = 1', ""),
    ('experiment = "odd" and not (name = r3 or name = r5)', "1"),
    ('name ~ "R1"', "1"),
    ('name !~ "r1" and name !~ "r2"', "65430"),
    ('owner = "ada" and recipe = external', "6543210"),
    ('cluster = "embedded"', ""),
    ('not cluster = "embedded"', "6543210"),
    ("step > 3", ""),
    ('started_at < "-7d"', "0"),
    ('created_at > "-1h" and created_at < "2999-01-01"', "6543210"),
    ('name = "\' OR 1=1 --"', ""),
    ('name ~ "%"', ""),
]
ORDERS = [
    ("created_at", "0123456"),
    ("-name", "6543210"),
    ("-started_at", "6543210"),
    ("ended_at", "2654310"),
    (f"-metric:{SCORE}:best", "5432106"),
    (f"metric:{SCORE}:last", "0123456"),
    (f"-metric:{LOSS}:best", "5432106"),
    ("metric:unknown:last", "6543210"),
    ("config:lr", "6432105"),
    ("-config:seed", "6421035"),
    ("config:model", "0246135"),
    ("config:unknown", "6543210"),
    ("status", "2013456"),
]


@pytest.fixture
async def names(database: Database) -> dict[Any, str]:
    """Seven runs, by id their names: r0 … r6. r6 has no metrics; r5 has no config."""
    found = {}
    async with database.write() as session:
        home = await projects.ensure_default(session)
        for n in range(COUNT):
            config: dict[str, Any] = {"lr": 10.0**-n, "model": f"qwen-{n % 2}", "lora": n % 2 == 0}
            run = await runs.create_external(
                session,
                project=home,
                name=f"r{n}",
                actor=ADA,
                experiment="even" if n % 2 == 0 else "odd",
                config={} if n == 5 else config | {"seed": n if n != 3 else "three"},
                tags=["lora", f"t{n}"] if n < 3 else [],
            )
            if n < 6:
                columns = Columns.of([(1, n / 10, 0.0), (2, n / 20, 0.0)])
                await ingest_columns(session, run.id, 1, {SCORE: columns, LOSS: columns})
            if n == 2:
                await runs.finish_external(session, run, RunStatus.FAILED, actor=ADA)
            found[run.id] = run.name
        old = await session.get_one(Run, next(iter(found)))
        old.started_at = utcnow() - timedelta(days=9)
    return found


async def listed(database: Database, names: dict[Any, str], **wanted: Any) -> str:
    async with database.read() as session:
        page = await list_places(session, Wanted(projects=None, **wanted), limit=100)
    return "".join(names[place.run_id][1:] for place in page.items)


@pytest.mark.parametrize("few", [0, filter_sql.FEW])
async def test_filters_find_what_they_say(
    database: Database, names: dict[Any, str], monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(filter_sql, "FEW", few)
    found = {text: await listed(database, names, filter=text) for text, _ in FILTERS}
    assert found == dict(FILTERS)


async def test_orders_put_those_without_a_value_last(
    database: Database, names: dict[Any, str]
) -> None:
    found = {sort: await listed(database, names, sort=sort) for sort, _ in ORDERS}
    assert found == dict(ORDERS)


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_pages_join(database: Database, names: dict[Any, str], limit: int) -> None:
    for sort, order in ORDERS:
        seen, cursor = "", None
        while len(seen) <= len(names):
            async with database.read() as session:
                wanted = Wanted(projects=None, sort=sort)
                page = await list_places(session, wanted, limit=limit, cursor=cursor)
            seen += "".join(names[place.run_id][1:] for place in page.items)
            cursor = page.next_cursor
            if cursor is None:
                break
        assert seen == order, sort


async def test_columns_groups_and_names(database: Database, names: dict[Any, str]) -> None:
    columns = parse_columns([f"metric:{SCORE}:best", "config:model", "config:lr"])
    async with database.read() as session:
        page = await list_rows(session, Wanted(projects=None, sort="name"), columns, limit=9)
        cells = [list(row.cells) for row in page.items]
        assert cells[1] == [0.1, "qwen-1", 0.1]
        assert cells[5] == [0.5, None, None]
        assert cells[6][0] is None
        groups = await group(session, Wanted(projects=None), "config:model", columns)
        first = groups[0]
        assert (first.value, first.count) == ("qwen-0", 4)
        assert first.aggregates[0].n == 3
        assert first.aggregates[0].mean == pytest.approx(0.2)
        assert {(g.value, g.count) for g in groups[1:]} == {("qwen-1", 2), (None, 1)}
        by_name = await group(session, Wanted(projects=None), "experiment", [])
        assert [(g.value, g.count) for g in by_name] == [("even", 4), ("odd", 3)]
        found = await search_names(session, "EVAL pass", projects=None)
        assert (list(found.metrics), list(found.configs)) == ([SCORE], [])
        assert not (await search_names(session, "lr", projects=frozenset())).configs


async def test_a_page_costs_few_queries(
    database: Database, names: dict[Any, str], count_queries: QueryCounter
) -> None:
    columns = parse_columns([f"metric:{SCORE}:best", "config:lr"])
    counts = []
    for limit in (2, COUNT):
        with count_queries(database) as counted:
            async with database.read() as session:
                await list_rows(session, Wanted(projects=None), columns, limit=limit)
        counts.append(counted.count)
    # The numbers of keys are looked up once.
    assert counts[1] <= counts[0] <= 6


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("statos = failed", 1, "did you mean status"),
        ("status = faild", 1, "there is no status faild"),
        ("name > r1", 6, "name does not take >"),
        ('metric("a").bst > 1', 13, "did you mean best"),
        ('metric("a") > "x"', 8, "a is a number"),
        ("status = failed or", 19, "ends too early"),
        ("status failed", 8, "does not fit here"),
        ('name = "x', 8, "this quote has no end"),
        ("(status = failed", 17, "ends too early"),
        ('created_at > "soon"', 1, "soon is no time"),
        ("tag = 3", 1, "wants text"),
        ("name = 'a' " + "and name = 'a' " * 50, 1, "at most 50 conditions"),
        ("x" * 2_001, 2_001, "at most 2,000 characters"),
        ("(" * 900 + "name = a", 909, "ends too early"),
    ],
)
async def test_mistakes_are_placed_and_explained(
    sqlite_database: Database, text: str, place: int, words: str
) -> None:
    with pytest.raises(Invalid, match=words) as caught:
        async with sqlite_database.read() as session:
            await list_places(session, Wanted(projects=None, filter=text), limit=1)
    assert caught.value.problems[0].rule == f"character {place}"


@given(st.text(max_size=60))
def test_any_text_is_a_filter_or_a_mistake(text: str) -> None:
    with suppress(Invalid):
        assert parse(text) is None or list(conditions_of(parse(text)))


@given(st.text(st.characters(exclude_characters="\0"), max_size=40))
def test_quoted_text_comes_back(text: str) -> None:
    (condition,) = conditions_of(parse(f"name = {quoted(text)}"))
    assert condition.values == (text,)
