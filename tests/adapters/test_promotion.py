"""A promotion from the ask to the files: whole or not at all, once, and with its lineage."""

import asyncio
import hashlib
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.adapters import destinations
from app.adapters import service as adapters
from app.adapters.faults import PromotionFault
from app.adapters.names import MAX_NAME, checked_name, default_name, free_variant
from app.checkpoints.exports import CONFIG, WEIGHTS
from app.clock import utcnow
from app.endpoints import service as endpoints
from app.errors import Conflict, Invalid
from app.models import AdapterStatus, PromotionStatus
from app.runs import service as runs
from app.storage.adapter_store import StorageError, StorageFull
from app.storage.local_adapters import LocalAdapterStore
from tests.adapters.conftest import Shop
from tests.checkpoints.exports import weights, write_adapter, write_export
from tests.evaluations.factories import add_endpoint
from tests.factories import ADA
from worker.jobs.maze_grpo.export import BASE_NAME
from worker.reconcilers.promotions import MAX_TRIES
from worker.serving import adapters as serving
from worker.serving import limits


async def test_an_adapter_arrives_whole_and_knows_where_it_comes_from(shop: Shop) -> None:
    slug = await shop.add_run(4, 6)
    asked = await shop.promote(await shop.export_of(slug, 6))
    assert (await shop.read(asked)).status is PromotionStatus.QUEUED
    await shop.settle()
    row = await shop.read(asked)
    assert (row.status, row.failure) == (PromotionStatus.SUCCEEDED, None)
    adapter = row.adapter
    assert (adapter.name, adapter.status) == (f"{slug}-s6", AdapterStatus.READY)
    assert (adapter.step, adapter.attempt_number, adapter.rank) == (6, 1, 4)
    assert adapter.evaluation == {"solved": 6, "passed": 8, "n": 8}
    assert adapter.config.digest == (await run_of(shop, slug)).config.digest
    folder = shop.root / adapter.name
    assert sorted(each.name for each in folder.iterdir()) == [CONFIG, WEIGHTS]
    assert (folder / WEIGHTS).read_bytes() == weights()
    assert adapter.sha256 == hashlib.sha256(weights()).hexdigest()
    assert row.copied_bytes == row.total_bytes == sum(f.stat().st_size for f in folder.iterdir())


async def test_asked_twice_it_is_the_same_promotion_also_after_it_is_done(shop: Shop) -> None:
    slug = await shop.add_run(6)
    export = await shop.export_of(slug, 6)
    first = await shop.promote(export, name="mine")
    assert await shop.promote(export, name="mine") == first
    await shop.settle()
    assert await shop.promote(export, name="mine") == first
    assert (await shop.read(first)).status is PromotionStatus.SUCCEEDED
    assert await shop.promote(export, name="other") != first


async def test_a_name_in_use_is_told_with_one_that_is_free(shop: Shop) -> None:
    slug = await shop.add_run(4, 6)
    await shop.promote(await shop.export_of(slug, 4), name="mine")
    await shop.promote(await shop.export_of(slug, 4), name="mine-2")
    with pytest.raises(adapters.NameInUse) as caught:
        await shop.promote(await shop.export_of(slug, 6), name="mine")
    assert caught.value.suggestion == "mine-3"
    assert "mine-3" in caught.value.message


async def test_of_two_that_want_a_name_at_once_one_gets_it_and_the_other_is_told(
    shop: Shop,
) -> None:
    slug = await shop.add_run(4, 6)
    exports = [await shop.export_of(slug, step) for step in (4, 6)]
    found = await asyncio.gather(
        *(shop.promote(each, name="mine") for each in exports), return_exceptions=True
    )
    lost = [each for each in found if isinstance(each, adapters.NameInUse)]
    won = [each for each in found if isinstance(each, str)]
    assert (len(won), len(lost)) == (1, 1)
    await shop.settle()
    assert (await shop.read(won[0])).status is PromotionStatus.SUCCEEDED


async def test_a_folder_that_is_none_of_ours_is_never_touched(shop: Shop) -> None:
    slug = await shop.add_run(6)
    strange = write_adapter(shop.root / "mine", data=b"somebody's")
    asked = await shop.promote(await shop.export_of(slug, 6), name="mine")
    await shop.settle()
    row = await shop.read(asked)
    assert (row.status, row.adapter.status) == (PromotionStatus.FAILED, AdapterStatus.FAILED)
    assert row.failure is not None
    assert row.failure["kind"] == PromotionFault.NAME_TAKEN
    assert (strange / WEIGHTS).read_bytes() == b"somebody's"
    await delete(shop, asked)
    await shop.settle()
    assert (strange / WEIGHTS).read_bytes() == b"somebody's"


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"data": weights()[:-4]}, PromotionFault.WEIGHTS_BROKEN),
        ({"data": b""}, PromotionFault.WEIGHTS_BROKEN),
        ({"config": {"r": 8}}, PromotionFault.RANK_DIFFERS),
        (
            {"config": {"r": 2048, "rank_pattern": {"head": 2, "trunk": 4}}},
            PromotionFault.RANK_TOO_HIGH,
        ),
        ({"config": {"r": "four"}}, PromotionFault.CONFIG_BROKEN),
        ({"config": {"peft_type": "IA3"}}, PromotionFault.CONFIG_BROKEN),
        ({"config": {"base_model_name_or_path": "/models/other"}}, PromotionFault.BASE_DIFFERS),
        ({"config": {"use_dora": True}}, PromotionFault.UNSUPPORTED),
        ({"config": {"padding": "x" * 70_000}}, PromotionFault.TOO_LARGE),
        ({"data": weights(width=200_000)}, PromotionFault.TOO_LARGE),
    ],
)
async def test_what_could_not_be_served_is_not_copied(
    shop: Shop, given: dict[str, Any], kind: PromotionFault
) -> None:
    slug = await shop.add_run(6)
    export = await shop.export_of(slug, 6)
    write_export(shop.folder(slug), 6, **given)
    asked = await shop.promote(export)
    await shop.settle()
    row = await shop.read(asked)
    assert row.failure is not None
    assert (row.status, row.failure["kind"]) == (PromotionStatus.FAILED, kind)
    assert row.failure["hint"]
    assert not (shop.root / row.adapter.name).exists()


async def test_a_link_in_the_run_s_folder_leads_nowhere(shop: Shop, tmp_path: Path) -> None:
    slug = await shop.add_run(4, 6)
    secret = tmp_path / "secret"
    secret.write_bytes(weights())
    inner = shop.folder(slug) / "exports" / "global_step_4" / "policy" / WEIGHTS
    inner.unlink()
    inner.symlink_to(secret)
    outer = shop.folder(slug) / "exports" / "global_step_6"
    outer.rename(tmp_path / "moved")
    outer.symlink_to(tmp_path / "moved")
    for step, kind in ((4, PromotionFault.FILE_MISSING), (6, PromotionFault.SOURCE_GONE)):
        asked = await shop.promote(await shop.export_of(slug, step))
        await shop.settle()
        failure = (await shop.read(asked)).failure
        assert failure is not None
        assert failure["kind"] == kind
    assert not list(shop.root.glob("run-*"))


async def test_a_pipe_is_not_waited_for(shop: Shop) -> None:
    slug = await shop.add_run(6)
    export = await shop.export_of(slug, 6)
    file = shop.folder(slug) / "exports" / "global_step_6" / "policy" / CONFIG
    file.unlink()
    os.mkfifo(file)
    asked = await shop.promote(export)
    await asyncio.wait_for(shop.settle(), 10)
    assert (await shop.read(asked)).status is PromotionStatus.FAILED


async def test_weights_that_change_between_the_look_and_the_copy_are_not_served(
    shop: Shop,
) -> None:
    slug = await shop.add_run(6)
    asked = await shop.promote(await shop.export_of(slug, 6))
    assert await shop.promotions.turn() == 1
    write_export(shop.folder(slug), 6, data=weights(fill=0.25))
    await shop.settle()
    row = await shop.read(asked)
    assert row.failure is not None
    assert row.failure["kind"] == PromotionFault.SOURCE_CHANGED
    assert not (shop.root / row.adapter.name / CONFIG).exists()


async def test_its_endpoint_is_looked_at_once_it_is_there_and_once_it_is_gone(shop: Shop) -> None:
    slug = await shop.add_run(6)
    async with shop.database.write() as session:
        embedded = await endpoints.ensure_embedded(session)
    later = utcnow() + timedelta(days=1)

    async def is_woken() -> bool:
        async with shop.database.write() as session:
            found = await endpoints.get(session, embedded.slug)
            was_woken, found.due_at = found.due_at != later, later
            return was_woken

    await is_woken()
    asked = await shop.promote(await shop.export_of(slug, 6))
    await shop.promotions.turn()
    assert not await is_woken()
    await shop.settle()
    assert await is_woken()
    await delete(shop, asked)
    await shop.settle()
    assert await is_woken()


async def test_it_may_name_the_endpoint_that_will_serve_it(shop: Shop) -> None:
    export = await shop.export_of(await shop.add_run(6), 6)
    async with shop.database.write() as session:
        embedded = await endpoints.ensure_embedded(session)
        await add_endpoint(session, "qwen", slug="end-other", name="Far away")
    made = await shop.promote(export, endpoint=embedded.slug)
    assert await shop.promote(export, endpoint=embedded.name) == made
    for other in ("end-other", "Far away"):
        with pytest.raises(Invalid, match=r"^Far away loads adapters from storage of its own"):
            await shop.promote(export, name="x", endpoint=other)
    with pytest.raises(Invalid, match="there is no endpoint end-nothing"):
        await shop.promote(export, name="x", endpoint="end-nothing")


async def test_a_full_disk_is_tried_again_and_then_given_up_and_may_be_asked_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = await shop.add_run(6)
    export = await shop.export_of(slug, 6)
    asked = await shop.promote(export)

    def full(*_args: object, **_given: object) -> None:
        raise StorageFull("no room")

    with monkeypatch.context() as patched:
        patched.setattr(LocalAdapterStore, "put", full)
        await shop.settle()
        row = await shop.read(asked)
        assert (row.status, row.tries) == (PromotionStatus.RUNNING, 1)
        for _ in range(MAX_TRIES):
            await shop.settle(seconds=60)
    row = await shop.read(asked)
    assert (row.status, row.tries) == (PromotionStatus.FAILED, MAX_TRIES)
    assert row.failure is not None
    assert row.failure["kind"] == PromotionFault.STORAGE_FULL
    assert await shop.promote(export) == asked
    await shop.settle()
    assert (await shop.read(asked)).status is PromotionStatus.SUCCEEDED


async def test_a_result_of_a_worker_that_was_killed_before_it_stored_it_is_found(
    shop: Shop,
) -> None:
    slug = await shop.add_run(6)
    asked = await shop.promote(await shop.export_of(slug, 6))
    assert await shop.promotions.turn() == 1
    reconciler = shop.promotions._reconciler
    async with shop.database.read() as session:
        subject = await reconciler.load(session, (await shop.read(asked)).id)
    copied = await reconciler.observe(subject)
    assert copied.is_copied
    # Nothing of it was stored, and what was copied has gone since.
    export = shop.folder(slug) / "exports"
    export.rename(export.with_name("gone"))
    await shop.settle()
    assert (await shop.read(asked)).status is PromotionStatus.SUCCEEDED


async def test_training_state_and_what_is_broken_cannot_be_asked_for(shop: Shop) -> None:
    slug = await shop.add_run(6)
    state = next(each.row for each in await shop.saved(slug) if each.row.kind == "state")
    with pytest.raises(Conflict, match="whole training state"):
        await shop.promote(state.slug)
    write_export(shop.folder(slug), 8, data=b"x" * 50)
    await shop.look()
    with pytest.raises(Conflict, match="not whole"):
        await shop.promote(await shop.export_of(slug, 8))
    for given in ({"destination": "s3"}, {"endpoint": "end-else"}, {"name": "A"}):
        with pytest.raises(Invalid):
            await shop.promote(await shop.export_of(slug, 6), **given)


async def test_a_deleted_adapter_is_moved_aside_and_its_name_stays_used(shop: Shop) -> None:
    slug = await shop.add_run(6)
    export = await shop.export_of(slug, 6)
    asked = await shop.promote(export, name="mine")
    with pytest.raises(Conflict, match="being promoted"):
        await delete(shop, asked)
    await shop.settle()
    await delete(shop, asked)
    await shop.settle()
    assert not (shop.root / "mine").exists()
    (aside,) = (shop.root / ".deleted").iterdir()
    assert (aside / WEIGHTS).read_bytes() == weights()
    with pytest.raises(adapters.NameInUse):
        await shop.promote(export, name="mine")
    await delete(shop, asked)
    assert (await shop.read(asked)).adapter.status is AdapterStatus.DELETED


async def test_deleting_goes_on_until_the_disk_lets_it(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = await shop.add_run(6)
    asked = await shop.promote(await shop.export_of(slug, 6), name="mine")
    await shop.settle()
    await delete(shop, asked)

    def stuck(*_args: object) -> None:
        raise StorageError("busy")

    with monkeypatch.context() as patched:
        patched.setattr(LocalAdapterStore, "remove", stuck)
        for _ in range(MAX_TRIES + 2):
            await shop.settle(seconds=60)
    assert (shop.root / "mine").exists()
    await shop.settle(seconds=60)
    assert not (shop.root / "mine").exists()


@pytest.mark.parametrize(
    "name",
    ["", "-a", "a-", "a/b", "..", ".hidden", "a:b", "A", "ä", "a b", "a\n", "x" * 64, "\u0660"],
)
def test_names_that_could_be_more_than_names_are_refused(name: str) -> None:
    with pytest.raises(Invalid, match="adapter's name"):
        checked_name(name)


def test_a_suggested_name_is_a_name_however_long_the_other_was() -> None:
    for name in ("a", "x" * MAX_NAME, "x" * 60 + "-yz", default_name("run-7fk2m9qd", 10**18)):
        taken = {name, free_variant(name, [])}
        found = free_variant(name, taken)
        assert checked_name(found) not in taken


def test_the_limits_are_those_of_the_embedded_endpoint(tmp_path: Path) -> None:
    place = destinations.get(None)
    assert place.bases == frozenset({BASE_NAME})
    assert place.max_weights_bytes == limits.MAX_ADAPTER_BYTES
    assert place.max_config_bytes == limits.MAX_CONFIG_BYTES
    assert place.max_rank == serving._MAX_RANK


async def delete(shop: Shop, promotion: str) -> None:
    async with shop.database.write() as session:
        adapter = (await adapters.get_promotion(session, promotion)).adapter
        await adapters.delete(session, adapter, actor=ADA)


async def run_of(shop: Shop, slug: str) -> Any:
    async with shop.database.read() as session:
        return await runs.get(session, slug)
