"""Many small runs, made by the services and not over HTTP."""

import asyncio
from pathlib import Path
from typing import Any

import workload as W  # type: ignore[import-not-found]  # the peer benchmark's own

from app.access.principal import Actor
from app.db import Database
from app.metrics.columns import Columns
from app.metrics.ingest import ingest_columns
from app.models import RunStatus
from app.projects import service as projects
from app.runs import service as runs

_ACTOR = Actor("bench", "tok-bench")
_A_TRANSACTION = 100


def fill(home: str, case: Any, first: int) -> list[str]:
    """The runs of a case; returns their ids."""
    return asyncio.run(_fill(Path(home), case, first))


async def _fill(home: Path, case: Any, first: int) -> list[str]:
    database = Database(f"sqlite+aiosqlite:///{home / 'skydeck.db'}")
    ids: list[str] = []
    for start in range(first, first + case.runs, _A_TRANSACTION):
        async with database.write() as session:
            project = await projects.ensure_default(session)
            for number in range(start, min(start + _A_TRANSACTION, first + case.runs)):
                run = await runs.create_external(
                    session,
                    project=project,
                    name=W.run_name(number),
                    actor=_ACTOR,
                    experiment=W.PROJECT,
                    config=W.params(number, case.params),
                )
                columns = {
                    key: Columns.of([(step, row[key], 1.79e9 + step)])
                    for step, row in W.steps(case, number)
                    for key in row
                }
                await ingest_columns(session, run.id, 1, columns)
                await runs.finish_external(session, run, RunStatus.SUCCEEDED, actor=_ACTOR)
                ids.append(run.slug)
                # So that a thousand runs are not looked through at each flush.
                await session.flush()
                session.expunge_all()
    await database.close()
    return ids
