"""A disk that runs full under a working worker: nothing is lost, and it goes on with new space.

SQLite itself refuses to grow, with the error that it has for a full disk.
"""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from app.db import Database
from app.models import RunStatus
from app.ray.gateway import JobStatus
from tests.worker.reconcilers.conftest import make_bench
from tests.worker.reconcilers.test_logs import block, series_of, stored_log

STEPS = 400
LEASE_SECONDS = 15


class Disk:
    """Limits the pages that the database may have, from the next connection's use on."""

    def __init__(self, database: Database) -> None:
        self.most_pages = 2**31 - 2
        event.listen(database.engine.sync_engine, "checkout", self._limit)

    def _limit(self, connection: Any, _record: object, _proxy: object) -> None:
        cursor = connection.cursor()
        # A limit below the present size becomes the present size.
        cursor.execute(f"PRAGMA max_page_count = {self.most_pages}")
        cursor.close()


async def test_nothing_is_lost_while_the_disk_is_full(
    sqlite_database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = Disk(sqlite_database)
    bench = await make_bench(sqlite_database, tmp_path / "home")
    slug = await bench.start_run()
    log = "".join(block(step, **{f"a{step}": float(step)}) for step in range(STEPS)).encode()
    disk.most_pages = 1
    bench.write_log(slug, log)
    for _ in range(4):
        await bench.step(LEASE_SECONDS)
    assert (await bench.stream(slug)).n_bytes == 0
    assert "database or disk is full" in caplog.text
    assert {type(one.exc_info[1]) for one in caplog.records if one.exc_info} == {OperationalError}

    disk.most_pages = 2**31 - 2
    for _ in range(3):
        await bench.step(120)
    stream = await bench.stream(slug)
    assert await stored_log(bench, stream) == log
    last = STEPS - 1
    assert await series_of(bench, slug, f"a{last}") == ([last], [float(last)])
    await bench.end_job(slug, JobStatus.SUCCEEDED)
    assert (await bench.read(slug)).status is RunStatus.SUCCEEDED
