"""What a job writes into its files may hold its secrets: none of that is stored."""

from pathlib import Path

import pytest

from app.db import Database
from app.projects import service as projects
from app.secrets import service as secrets
from tests.adapters.conftest import Shop, make_shop
from tests.checkpoints.exports import write_export
from tests.factories import ADA
from tests.secrets.conftest import with_keys

VALUE = "hf_9d8c7b6a5f4e3d2c1b"


@pytest.fixture
async def shop(sqlite_database: Database, tmp_path: Path) -> Shop:
    made = make_shop(with_keys(sqlite_database, tmp_path / "secret.keys"), tmp_path / "home")
    async with made.database.write() as session:
        home = await projects.ensure_default(session)
        await secrets.put(session, home.id, "HF_TOKEN", VALUE, actor=ADA)
    return made


async def test_a_secret_in_a_base_s_name_is_masked(shop: Shop) -> None:
    slug = await shop.add_run(6)
    write_export(shop.folder(slug), 6, config={"base_model_name_or_path": f"/m/{VALUE}"})
    asked = await shop.promote(await shop.export_of(slug, 6))
    await shop.settle()
    failure = (await shop.read(asked)).failure
    assert failure is not None
    assert VALUE not in str(failure)
    assert "***HF_TOKEN***" in failure["message"]


async def test_a_secret_in_a_tensor_s_name_is_masked(shop: Shop) -> None:
    slug = await shop.add_run(6)
    header = f'{{"{VALUE}": {{}}}}'.encode()
    write_export(shop.folder(slug), 8, data=len(header).to_bytes(8, "little") + header)
    await shop.look()
    problem = next(e.row.problem for e in await shop.saved(slug) if e.row.step == 8)
    assert VALUE not in problem
    assert "***HF_TOKEN***" in problem
