"""What a job of a real Ray head sees: its secrets, its run's id and folder, no setting of ours."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.clusters import service as clusters
from app.db import Database
from app.logs import service as logs
from app.models import RunStatus
from app.projects import service as projects
from app.recipes import service as recipes
from app.runs import service as runs
from app.runs.states import ENDED
from app.secrets import service as secrets
from tests.factories import ADA, make_experiment
from tests.fakes.connector import connector
from tests.ray.plugin import RunningHead
from tests.secrets.conftest import with_keys
from tests.security.planted import PROJECT, columns, finds, printed
from worker.reconciler import Loop
from worker.reconcilers.attempts import AttemptsReconciler
from worker.reconcilers.clusters import ClustersReconciler
from worker.reconcilers.gateways import OpenGateways
from worker.reconcilers.job_code import Packages
from worker.reconcilers.job_tracking import Addresses
from worker.reconcilers.logs import LogsReconciler

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(600)]
POLL = timedelta(seconds=0.3)
GIVEN = [name for name in PROJECT if name != "P_PLAIN"]
# The job writes what it sees where only the test looks, and prints it where everybody does.
PROGRAM = """
import json, os, sys
with open(os.path.join(os.environ["SKYDECK_RUN_DIR"], "seen.json"), "w") as file:
    json.dump(dict(os.environ), file)
print(open(os.path.join(os.environ["SKYDECK_RUN_DIR"], "printed.txt")).read())
print(dict(os.environ))
sys.exit(3)
"""


async def test_a_job_sees_the_secrets_it_named_and_no_setting(
    ray_head: RunningHead,
    sqlite_database: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = recipes.get
    command = ("python", "-c", PROGRAM)
    monkeypatch.setattr(recipes, "get", lambda name: replace(real(name), entrypoint=command))
    database = with_keys(sqlite_database, tmp_path / "secret.keys")
    gateways = OpenGateways(ray_head.home, connector())
    runs_dir = tmp_path / "runs"
    slug = await _queue(database, runs_dir)
    try:
        run = await _until_ended(
            database, _loops(database, gateways, ray_head.home, runs_dir), slug
        )
        assert run.attempts[0].ray_session is not None
        shown = await _shown_by_ray(ray_head, f"{slug}-a1")
    finally:
        await gateways.aclose()
    assert run.status is RunStatus.FAILED
    seen = json.loads((runs_dir / slug / "seen.json").read_text())
    assert {name for name in seen if name.startswith("SKYDECK_")} == {
        "SKYDECK_RUN_ID",
        "SKYDECK_RUN_DIR",
    }
    assert {name: seen.get(name) for name in PROJECT if name in seen} == {
        name: PROJECT[name] for name in GIVEN
    }
    # That is what an administrator agrees to, and why the launch is refused without.
    assert PROJECT["P_SHORT"] in str(shown)
    async with database.read() as session:
        stream = await logs.find_stream(session, await runs.get(session, slug), 1)
        assert stream is not None
    stored = b"".join([part async for part in logs.iter_bytes(database, stream.id)])
    assert all(f"***{name}***".encode() in stored for name in GIVEN)
    assert finds(stored) == []
    file = Path(str(database.engine.url.database))
    assert [name for name, data in columns(file) if finds(data)] == []


async def _queue(database: Database, runs_dir: Path) -> str:
    async with database.write() as session:
        project = await projects.ensure_default(session)
        for name, value in PROJECT.items():
            await secrets.put(session, project.id, name, value, actor=ADA)
        cluster = await clusters.ensure_embedded(session)
        await clusters.set_consents(session, cluster, shows_secrets=True, actor=ADA)
        experiment = await make_experiment(session, config={"job.secrets": ", ".join(GIVEN)})
        run = await runs.create(session, experiment, actor=ADA)
    folder = runs_dir / run.slug
    folder.mkdir(parents=True)
    text = "\n".join(text for value in PROJECT.values() for text in printed(value))
    (folder / "printed.txt").write_text(text)
    return run.slug


def _loops(
    database: Database, gateways: OpenGateways, home: Path, runs_dir: Path
) -> list[Loop[Any, Any]]:
    reconcilers: list[Any] = [
        ClustersReconciler(gateways, home=home, poll=POLL),
        AttemptsReconciler(
            gateways,
            Packages(database, home),
            addresses=Addresses(home, None),
            runs_dir=runs_dir,
            poll=POLL,
        ),
        LogsReconciler(gateways, home=home, runs_dir=runs_dir, poll=POLL),
    ]
    return [Loop(database, each, lease_seconds=30) for each in reconcilers]


async def _until_ended(database: Database, loops: list[Loop[Any, Any]], slug: str) -> Any:
    async with asyncio.timeout(240):
        while True:
            for loop in loops:
                await loop.turn()
            async with database.read() as session:
                run = await runs.get(session, slug)
            if run.status in ENDED:
                return run
            await asyncio.sleep(0.2)


async def _shown_by_ray(head: RunningHead, submission_id: str) -> Any:
    headers = {"Authorization": f"Bearer {head.token}"}
    url = f"{head.state.address}/api/jobs/{submission_id}"
    async with httpx.AsyncClient(headers=headers, trust_env=False, timeout=30) as client:
        return (await client.get(url)).json()["runtime_env"]
