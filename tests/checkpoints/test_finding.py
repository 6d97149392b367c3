"""What a run has saved is found: by its log, in its folder, and nowhere else."""

import json
import os
from math import inf
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app.checkpoints import service as checkpoints
from app.checkpoints.exports import CONFIG, WEIGHTS, look_at
from app.checkpoints.folders import Saved, find_saved, inside, step_of
from app.checkpoints.service import MAX_CHECKPOINTS, SavedLine, Shown
from app.errors import Invalid
from app.metrics import service as metrics
from app.metrics.service import MetricPoint
from app.models import CheckpointKind, CheckpointWatch
from app.ray.gateway import JobStatus
from app.runs import service as runs
from app.settings import ROOT
from app.storage.inside import open_folder
from tests.adapters.conftest import Shop, evaluation, make_shop
from tests.checkpoints.exports import write_adapter, write_export, write_state
from tests.processor import processor_under
from tests.security.hostile import PAYLOADS
from tests.worker.reconcilers.conftest import Bench, make_bench
from worker.reconcilers import checkpoints as reconciler
from worker.reconcilers.readings import Follower

STATE, ADAPTER = CheckpointKind.STATE, CheckpointKind.ADAPTER
REAL = ROOT / "tests/conformance/data/skyrl/real-run/ray"
TRAINER = "skyrl.train.trainer:save_checkpoints:1701"


@pytest.fixture
def shop(database: Any, tmp_path: Path) -> Shop:
    return make_shop(database, tmp_path / "home")


@pytest.fixture
async def bench(database: Any, tmp_path: Path) -> Bench:
    return await make_bench(database, tmp_path / "home")


def record(message: str) -> str:
    return f"2026-11-29 12:00:01.500 | INFO     | {TRAINER} - {message}\n"


def saved_line(step: int, path: str) -> str:
    return record(f"Successfully saved checkpoint for global_step_{step} to: {path}")


EXPORTED = record("Successfully saved model weights.")
BEGUN, DONE = record("Started: 'step'"), record("Finished: 'step', time cost: 1.00s")


def lines_of(text: str, **given: Any) -> list[tuple[CheckpointKind, int]]:
    follower = Follower(Path("/nowhere"), exports="/x/exports", **given)
    return [(line.kind, line.step) for line in follower.feed(text.encode()).saved]


def test_an_export_is_of_the_step_under_way_although_its_line_names_none() -> None:
    step = BEGUN + EXPORTED + DONE
    assert lines_of(BEGUN + DONE + step + step) == [(ADAPTER, 2), (ADAPTER, 3)]
    resumed = record("Resuming from global_step: 40")
    assert lines_of(resumed + step) == [(ADAPTER, 41)]
    both = BEGUN + saved_line(7, "/c/global_step_7") + EXPORTED + DONE
    assert lines_of(both + EXPORTED) == [(STATE, 7), (ADAPTER, 7), (ADAPTER, 7)]
    at_the_end = saved_line(9, "/c/global_step_9") + EXPORTED
    assert lines_of(BEGUN + DONE + at_the_end) == [(STATE, 9), (ADAPTER, 9)]


def test_where_the_log_is_cut_changes_nothing() -> None:
    text = (BEGUN + saved_line(7, "/c/global_step_7") + EXPORTED + DONE) * 2
    whole = lines_of(text)
    for cut in range(0, len(text), 13):
        first = Follower(Path("/nowhere"), exports="/x/exports")
        begun = first.feed(text[:cut].encode())
        rest = Follower(Path("/nowhere"), begun.state, exports="/x/exports")
        found = begun.saved + rest.feed(text[cut:].encode()).saved
        assert [(line.kind, line.step) for line in found] == whole


@pytest.mark.parametrize("name", sorted(file.name for file in REAL.glob("*.log")))
def test_exports_of_a_real_run_are_those_of_its_checkpoints(name: str) -> None:
    follower = Follower(Path("/nowhere"), exports="/x/exports")
    found = follower.feed((REAL / name).read_bytes()).saved
    states = {line.step for line in found if line.kind is STATE}
    assert {line.step for line in found if line.kind is ADAPTER} <= states


async def test_what_the_log_tells_is_there_before_anybody_looked(bench: Bench) -> None:
    slug = await bench.start_run()
    text = BEGUN + saved_line(2, "/shared/ckpts/global_step_2") + EXPORTED + DONE
    bench.write_log(slug, text.encode())
    await bench.step()
    state, adapter = await shown(bench, slug)
    assert (state.row.kind, state.row.step, state.row.is_complete) == (STATE, 2, True)
    assert (adapter.row.kind, adapter.row.step, adapter.row.is_complete) == (ADAPTER, 2, False)
    assert "only the log" in adapter.row.problem
    assert adapter.row.path == str(bench.home / "runs" / slug / "exports/global_step_2/policy")


async def test_folder_and_log_make_one_row_of_a_checkpoint(bench: Bench, shop: Shop) -> None:
    slug = await bench.start_run()
    folder = shop.folder(slug)
    path = write_state(folder, 2)
    write_export(folder, 2)
    bench.write_log(slug, b"training\n")
    await bench.step()
    await shop.look()
    assert [each.row.seen_at is not None for each in await shop.saved(slug)] == [True, True]
    bench.write_log(slug, (BEGUN + saved_line(2, str(path)) + EXPORTED + DONE).encode())
    await bench.step()
    await shop.look()
    found = await shop.saved(slug)
    assert [each.row.is_complete for each in found] == [True, True]
    assert all(each.row.attempt_number == 1 and each.row.size_bytes for each in found)


async def test_a_resumed_attempt_that_saves_a_step_again_takes_it_over(bench: Bench) -> None:
    slug = await bench.start_run()
    line = saved_line(2, "/c/global_step_2").encode()
    bench.write_log(slug, line)
    await bench.step()
    await bench.end_job(slug, JobStatus.FAILED, driver_exit_code=1)
    await bench.change(slug, runs.request_resume)
    await bench.settle()
    bench.gateway.start(f"{slug}-a2")
    bench.write_log(slug, line, number=2)
    await bench.step()
    (only,) = await shown(bench, slug)
    assert only.row.attempt_number == 2


async def test_a_look_before_a_line_of_the_log_is_followed_by_another(shop: Shop) -> None:
    slug = await shop.add_run(2)
    reconciler = shop.looks._reconciler
    async with shop.database.write() as session:
        run = await runs.get(session, slug)
        await checkpoints.note_log(session, run, 1, [], now=shop.clock())
    (lease,) = await watches(shop)
    async with shop.database.read() as session:
        subject = await reconciler.load(session, lease)
    seen = await reconciler.observe(subject)
    async with shop.database.write() as session:
        run = await runs.get(session, slug)
        await checkpoints.note_log(session, run, 1, [], now=shop.clock())
    async with shop.database.write() as session:
        assert await reconciler.apply(session, subject, seen, now=shop.clock()) == shop.clock()


async def test_what_the_trainer_removed_is_gone_and_may_come_back(shop: Shop) -> None:
    slug = await shop.add_run(2, 4)
    folder = shop.folder(slug) / "ckpts" / "global_step_2"
    folder.rename(folder.with_name("aside"))
    await shop.look()
    gone = [(e.row.kind, e.row.step) for e in await shop.saved(slug) if e.row.gone_at]
    assert gone == [(STATE, 2)]
    folder.with_name("aside").rename(folder)
    await shop.look()
    assert not any(each.row.gone_at for each in await shop.saved(slug))


async def test_a_run_s_rows_stay_where_its_folder_is_on_another_machine(shop: Shop) -> None:
    slug = await shop.add_run(2)
    shop.folder(slug).rename(shop.home / "elsewhere")
    await shop.look()
    assert [each.row.is_complete for each in await shop.saved(slug)] == [True, True]


async def test_each_has_the_rates_of_its_own_attempt_and_the_best_two_may_differ(
    shop: Shop,
) -> None:
    slug = await shop.add_run(2, 4, 6)
    async with shop.database.write() as session:
        run = await runs.get(session, slug)
        # Step 4 again in another attempt, which saved nothing there; 8 was not exported.
        session.add(evaluation(run, 4, solved=7, attempt=2))
        session.add(evaluation(run, 8, solved=8, attempt=2))
    write_state(shop.folder(slug), 8)
    (shop.folder(slug) / "exports/global_step_6/policy" / WEIGHTS).unlink()
    await shop.look()
    found = {(each.row.kind, each.row.step): each for each in await shop.saved(slug)}
    rates = {step: found[STATE, step].solve_rate for step in (2, 4, 6)}
    assert rates == {2: 2 / 8, 4: 4 / 8, 6: 6 / 8}
    assert {each.pass_at_1 for (_, step), each in found.items() if step < 8} == {1.0}
    exportable = [place for place, each in found.items() if each.is_best_exportable]
    assert exportable == [(ADAPTER, 4)]
    async with shop.database.read() as session:
        _, best = await checkpoints.list_with_best(session, await runs.get(session, slug))
    assert (best.evaluated, best.value, best.measure) == (8, 1.0, "solve rate")


async def test_pages_of_the_list_hold_each_once(shop: Shop) -> None:
    slug = await shop.add_run(2, 4, 6)
    seen: list[Shown] = []
    cursor = None
    async with shop.database.read() as session:
        run = await runs.get(session, slug)
        while True:
            page = await checkpoints.list_page(session, run, limit=4, cursor=cursor)
            seen += page.items
            cursor = page.next_cursor
            if cursor is None:
                break
        for wrong in ("x", "WyJhIiwgMV0", "WzEsIDJd"):
            with pytest.raises(Invalid):
                await checkpoints.list_page(session, run, cursor=wrong)
    assert [each.row.step for each in seen] == [6, 6, 4, 4, 2, 2]
    assert len({each.row.id for each in seen}) == 6


async def test_a_log_full_of_lies_fills_no_database(shop: Shop) -> None:
    slug = await shop.add_run()
    lies = [SavedLine(STATE, step, f"/c/global_step_{step}") for step in range(MAX_CHECKPOINTS + 5)]
    lies += [
        SavedLine(STATE, 1, "/c/global_step_2"),
        SavedLine(STATE, 9_999_999, "x" * 2_000 + "/global_step_9999999"),
    ]
    async with shop.database.write() as session:
        await checkpoints.note_log(
            session, await runs.get(session, slug), 1, lies, now=shop.clock()
        )
    await shop.look()
    assert len(await shop.saved(slug)) == MAX_CHECKPOINTS


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_hostile_paths_in_a_log_are_text_and_nothing_else(shop: Shop, payload: str) -> None:
    slug = await shop.add_run()
    line = SavedLine(STATE, 3, f"{payload}/global_step_3")
    text = saved_line(3, line.path)
    assert all(each.kind is STATE for each in Follower(Path("/x")).feed(text.encode()).saved)
    async with shop.database.write() as session:
        await checkpoints.note_log(
            session, await runs.get(session, slug), 1, [line], now=shop.clock()
        )
    await shop.look()


def test_nothing_outside_of_the_folder_is_looked_at(tmp_path: Path) -> None:
    run, other = tmp_path / "run", tmp_path / "other"
    run.mkdir()
    write_state(other, 2)
    write_export(other, 2)
    (run / "ckpts").symlink_to(other / "ckpts")
    (run / "exports").mkdir()
    (run / "exports" / "global_step_2").symlink_to(other / "exports/global_step_2")
    named = [str(other / "ckpts/global_step_2"), "../other/ckpts/global_step_2", "\0/global_step_2"]
    assert find_saved(run, [*named, "x" * 5_000 + "/global_step_2", "/global_step_2"]) == []
    assert inside(run, "../run") is None
    assert inside(run, f"{run}x/global_step_1") is None


def test_half_written_neighbours_and_other_spellings_are_left_out(tmp_path: Path) -> None:
    write_export(tmp_path, 2)
    exports = tmp_path / "exports"
    write_adapter(exports / "global_step_2" / ".tmp-hf-export-policy-1a2b3c4d")
    write_adapter(exports / ".tmp-hf-export-global_step_4" / "policy")
    write_adapter(exports / ".old-hf-export-global_step_5" / "policy")
    write_adapter(exports / "global_step_007" / "policy")
    write_adapter(exports / "global_step_8-old" / "policy")
    write_adapter(exports / "global_step_٣" / "policy")
    (exports / "global_step_9").write_text("a file")
    os.mkfifo(exports / "global_step_10")
    assert [(saved.kind, saved.step) for saved in find_saved(tmp_path)] == [(ADAPTER, 2)]


def test_a_pickled_state_counts_once_its_marker_is_there(tmp_path: Path) -> None:
    for step in (2, 4):
        write_state(tmp_path, step, is_pickled=True)
    (tmp_path / "ckpts" / "latest_ckpt_global_step.txt").write_text("2")
    assert [saved.problem == "" for saved in find_saved(tmp_path)] == [True, False]
    (tmp_path / "ckpts" / "latest_ckpt_global_step.txt").unlink()
    assert not any(saved.problem == "" for saved in find_saved(tmp_path))


def test_a_broken_export_is_found_with_what_is_wrong(tmp_path: Path) -> None:
    write_export(tmp_path, 2, data=b"short")
    (write_export(tmp_path, 4) / CONFIG).unlink()
    write_export(tmp_path, 6)
    found = [saved.problem for saved in find_saved(tmp_path)]
    assert "not whole" in found[0]
    assert found[1:] == [f"{CONFIG} is missing", ""]


def test_as_many_ranks_as_a_config_holds_are_looked_through_in_time(tmp_path: Path) -> None:
    names = [f"layers.{number}.proj" for number in range(20_000)]
    header, place = {}, 0
    for name in names:
        shape, end = [2, 1], place + 8
        header[f"base.{name}.lora_A.weight"] = {
            "dtype": "F32",
            "shape": shape,
            "data_offsets": [place, end],
        }
        place = end
    head = json.dumps(header).encode()
    data = len(head).to_bytes(8, "little") + head + bytes(place)
    pattern = {"missing": 9, "proj": 2} | dict.fromkeys(names, 3)
    write_export(tmp_path, 1, data=data, config={"r": 4, "rank_pattern": pattern})
    # Each pattern tried at each layer took minutes. The first one that fits holds.
    with processor_under(5):
        (saved,) = find_saved(tmp_path)
    assert saved.problem == ""


@pytest.mark.parametrize("base", ["a\0b", "\ud800"])
def test_a_base_that_no_database_holds_becomes_one_that_it_does(tmp_path: Path, base: str) -> None:
    path = write_export(tmp_path, 1, config={"base_model_name_or_path": base})
    with open_folder(path) as folder:
        found = look_at(folder).base
    assert "\0" not in found
    assert found.encode()


@pytest.mark.parametrize("seconds", [-1.0, 1e11, 1e18, float("inf"), float("nan")])
async def test_a_folder_of_no_time_at_all_is_as_new_as_the_look(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    def found(*_given: object) -> list[Saved]:
        path = shop.folder("x") / "ckpts" / "global_step_2"
        return [Saved(STATE, 2, path, 1, "", seconds)]

    slug = await shop.add_run()
    shop.folder(slug).mkdir(parents=True)
    monkeypatch.setattr(reconciler, "find_saved", found)
    await shop.look()
    (one,) = await shop.saved(slug)
    assert one.row.saved_at == shop.clock()


async def test_a_rate_beyond_all_numbers_is_none(shop: Shop) -> None:
    slug = await shop.add_run()
    write_export(shop.folder(slug), 2)
    write_export(shop.folder(slug), 4)
    async with shop.database.write() as session:
        run = await runs.get(session, slug)
        key = "eval/all/pass_at_1"
        points = [MetricPoint(key, 2, inf, 1.0), MetricPoint(key, 4, 0.5, 2.0)]
        await metrics.ingest(session, run.id, 1, points)
    await shop.look()
    assert [each.pass_at_1 for each in await shop.saved(slug)] == [0.5, None]


def test_a_folder_that_the_log_names_is_looked_at_too(tmp_path: Path) -> None:
    write_adapter(tmp_path / "out" / "global_step_3" / "policy")
    state = write_state(tmp_path / "mine", 3)
    named = ["out/global_step_3/policy", str(state)]
    assert {saved.kind for saved in find_saved(tmp_path, named)} == {STATE, ADAPTER}


@pytest.mark.parametrize(
    ("path", "step"),
    [
        ("/a/global_step_7", 7),
        ("/a/global_step_7/policy", 7),
        ("/global_step_9/x", None),
        ("/a/global_step_7/policy/policy", None),
        ("global_step_1234567890123456789", None),
        ("", None),
        ("policy", None),
        ("global_step_٣", None),
    ],
)
def test_a_step_is_told_by_the_last_name_alone(path: str, step: int | None) -> None:
    assert step_of(path) == step


async def shown(bench: Bench, slug: str) -> list[Shown]:
    async with bench.database.read() as session:
        found = await checkpoints.list_page(session, await runs.get(session, slug))
    return sorted(found.items, key=lambda each: each.row.kind, reverse=True)


async def watches(shop: Shop) -> list[Any]:
    async with shop.database.read() as session:
        return list(await session.scalars(select(CheckpointWatch.id)))
