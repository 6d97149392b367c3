"""A job on a real Ray head logs by MLflow's API to its own run, with the token it was given."""

import shlex
from pathlib import Path

import httpx
import pytest

from app.client import Client
from tests.conformance.test_mlflow_client import python
from tests.e2e.runs import wait_ended
from tests.e2e.skydeck import Skydeck

__all__ = ["python"]
pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.slow_env, pytest.mark.timeout(900)]

KEY = "eval/all/pass_at_1"
# The calls of SkyRL's own adapter, and nothing that knows Skydeck.
TRAIN = f"""
import os, sys
import mlflow

experiment = mlflow.set_experiment("whatever it is called")
run = mlflow.start_run(experiment_id=experiment.experiment_id, run_name="seed 3")
mlflow.log_params({{"trainer.lr": 3e-6, "trainer.seed": 3}})
for step in (1, 2, 3):
    mlflow.log_metrics(metrics={{"{KEY}": step / 4}}, step=step)
mlflow.end_run()
print("mlflow run", run.info.run_id)
print("token", os.environ["MLFLOW_TRACKING_TOKEN"])
# Kept where only the test looks.
with open(os.path.join(os.environ["SKYDECK_RUN_DIR"], "token.txt"), "w") as file:
    file.write(os.environ["SKYDECK_RUN_TOKEN"])
"""


def test_a_job_logs_to_its_run_and_its_token_dies_with_it(skydeck: Skydeck, python: Path) -> None:
    with skydeck.client("admin") as admin:
        admin.change_cluster("embedded", runs_member_code=True)
    with skydeck.client() as client:
        run_id = _launch(client, python)
        run = wait_ended(client, run_id)
        log = b"".join(client.iter_log_bytes(run_id)).decode()
        assert run["status"] == "succeeded", log
        assert f"mlflow run {run_id}" in log
        # What a job prints is not to be used by whoever reads its log.
        assert "token ***SKYDECK_RUN_TOKEN***" in log
        (series,) = client.read_series([run_id], [KEY])
        assert (series["step"], series["value"]) == ([1, 2, 3], [0.25, 0.5, 0.75])
        (summary,) = [row for row in client.list_metrics(run_id) if row["key"] == KEY]
        assert summary["count"] == 3
    token = (skydeck.home / "runs" / run_id / "token.txt").read_text()
    url = f"{skydeck.url}/api/2.0/mlflow/runs/get"
    headers = {"Authorization": f"Bearer {token}"}
    answer = httpx.get(url, params={"run_id": run_id}, headers=headers, trust_env=False)
    assert answer.status_code == 401


def test_a_check_finds_that_jobs_reach_skydeck(skydeck: Skydeck) -> None:
    with skydeck.client("admin") as admin:
        check = admin.check_cluster("embedded")
    assert check["checks"][-1]["name"] == "way_back", check
    assert check["checks"][-1]["message"] == f"Jobs here reach Skydeck at {skydeck.url}."


def _launch(client: Client, python: Path) -> str:
    config = {
        "job.entrypoint": shlex.join([str(python), "-c", TRAIN]),
        "job.environment": {"GIT_PYTHON_REFRESH": "quiet"},
    }
    experiment = client.create_experiment("logs by MLflow", "command", config=config)
    return str(client.create_run(experiment["id"])["id"])
