"""The real MLflow client, in an environment of its own, against a served application."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.access.permissions import Scope
from app.clock import utcnow
from app.db import Database
from app.models import Attempt, AttemptStatus
from app.up.checks import listen
from app.users import service as users
from tests.conftest import sqlite_copy
from tests.factories import make_run

HERE = Path(__file__).parent
INDEX_UNREACHABLE = 75
pytestmark = [pytest.mark.slow_env, pytest.mark.timeout(540)]


@dataclass(frozen=True, slots=True)
class Site:
    """A served application; the token of a person, and of a job with its run."""

    url: str
    person: str
    job: str
    run: str


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mlflow") / "venv"
    made = subprocess.run(
        [HERE / "mlflow_venv.sh", folder], capture_output=True, text=True, timeout=500
    )
    if made.returncode == INDEX_UNREACHABLE:
        pytest.skip(f"no index has mlflow-skinny: {made.stderr}")
    assert made.returncode == 0, made.stderr
    return folder / "bin" / "python"


@pytest.fixture
def site(sqlite_template: Path, tmp_path: Path) -> Iterator[Site]:
    url = sqlite_copy(sqlite_template, tmp_path)
    person, job, run = asyncio.run(_fill(url))
    environ = {key: value for key, value in os.environ.items() if not key.startswith("SKYDECK_")}
    listener = listen("127.0.0.1", 0)
    descriptor, port = listener.fileno(), listener.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "app.up.serve", str(descriptor)],
        env=environ | {"SKYDECK_HOME": str(tmp_path), "SKYDECK_LOG_LEVEL": "error"},
        pass_fds=[descriptor],
    )
    listener.close()
    try:
        _wait(f"http://127.0.0.1:{port}")
        yield Site(f"http://127.0.0.1:{port}", person, job, run)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def call(python: Path, site: Site, token: str, *words: str) -> Any:
    environ = os.environ | {"MLFLOW_TRACKING_TOKEN": token, "GIT_PYTHON_REFRESH": "quiet"}
    command = [str(python), str(HERE / "mlflow_client.py"), site.url, *words]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environ)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout.splitlines()[-1])


def test_the_everyday_calls_of_the_client(python: Path, site: Site) -> None:
    found = call(python, site, site.person)
    assert found["history"] == [[1, "0.25"], [2, "0.5"], [3, "0.75"], [4, "inf"]]
    assert (found["name"], found["status"], found["lr"]) == ("seed 3", "FINISHED", "3e-06")
    assert found["params"] == 152
    assert found["paged"] is True
    assert (found["steps"], found["time"], found["value"]) == (
        [0, 2_499, 2_500],
        1790000002499,
        4e-4,
    )
    assert (found["tags"], found["end"]) == ({"note": "second"}, "FAILED")
    assert (found["filtered"], found["ordered"], found["table"]) == ([True], True, 2)
    assert "maze project" in found["experiments"]
    assert found["errors"] == ["RESOURCE_DOES_NOT_EXIST", *["INVALID_PARAMETER_VALUE"] * 2]


def test_a_job_of_skyrl_logs_to_its_own_run(python: Path, site: Site) -> None:
    found = call(python, site, site.job, "own")
    assert found["run_id"] == site.run
    assert found["status"] == "SCHEDULED"
    assert len(found["history"]) == 4
    assert (found["is_same"], found["lr"]) == (True, "1e-06")
    assert (found["nested"], found["team"]) == ("{'a': {'b': [1, None]}}", "rl")
    assert found["newest"] == 0.95
    assert (found["artifact"], found["delete"]) == ("INTERNAL_ERROR", "PERMISSION_DENIED")


async def _fill(url: str) -> tuple[str, str, str]:
    database = Database(url)
    async with database.write() as session:
        _, person = await users.create_token(session, name="ada", scope=Scope.WRITE)
        run = await make_run(session)
        attempt = Attempt(
            run_id=run.id,
            number=1,
            submission_id=f"{run.slug}-a1",
            status=AttemptStatus.RUNNING,
            created_at=utcnow(),
        )
        session.add(attempt)
        await session.flush()
        _, job = await users.create_run_token(session, run, 1)
    await database.close()
    return person, job, run.slug


def _wait(url: str) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if httpx.get(f"{url}/healthz", trust_env=False).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise TimeoutError("the web process does not answer")
