"""Any command on a real Ray head: its own metrics, over two attempts and a killed worker."""

import time
from collections.abc import Iterator

import pytest

from app.client import Client
from tests.e2e.runs import RUN_SECONDS, wait_ended
from tests.e2e.skydeck import Skydeck
from tests.e2e.test_uploaded_code import packed

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(600)]

# Saves every second step, so that the second attempt repeats the third; its losses are told apart
# by what they add. A task of Ray prints through the driver, with a prefix.
TRAIN = """\
import os
import sys
import time
from pathlib import Path

import ray

saved = Path(os.environ["SKYDECK_RUN_DIR"], "step")
first = int(saved.read_text()) if saved.exists() else 0
ray.init()


@ray.remote
def evaluate(step):
    print(f"step={step} eval/acc={50 + step}%")


for step in range(first + 1, 7):
    print(f"\\x1b[1mstep={step}\\x1b[0m loss={first + 1 / step:.4f} lr=1.5e-3", flush=True)
    if step == 3 and not first:
        sys.exit("lost at step 3")
    if step % 2 == 0:
        ray.get(evaluate.remote(step))
        saved.write_text(str(step))
        # Ray brings what a task prints to the driver's log a little later.
        time.sleep(2)
print("rows=1,234 rest=nan")
"""
CONFIG = {
    "job.entrypoint": "python train.py",
    "job.metric_patterns": [r"(?P<key>[\w/]+)=(?P<value>\S+)"],
}


def read(client: Client, run_id: str, key: str) -> list[tuple[int, float | None]]:
    return [
        point
        for one in client.read_series([run_id], [key])
        for point in zip(one["step"], one["value"], strict=True)
    ]


@pytest.fixture
def client(skydeck: Skydeck) -> Iterator[Client]:
    """While the cluster takes code of members."""
    with skydeck.client() as client, skydeck.client("admin") as admin:
        admin.change_cluster("embedded", runs_member_code=True)
        yield client
        admin.change_cluster("embedded", runs_member_code=False)


def test_a_commands_charts_hold_exactly_what_it_printed(skydeck: Skydeck, client: Client) -> None:
    uploaded = client.upload_code(packed({"train.py": TRAIN}), name="code.zip")
    config = CONFIG | {"job.working_dir": uploaded["reference"]}
    experiment = client.create_experiment("my own metrics", "command", config=config)
    run_id = str(client.create_run(experiment["id"])["id"])
    failed = wait_ended(client, run_id)
    assert failed["status"] == "failed", failed
    assert read(client, run_id, "loss") == [(1, 1.0), (2, 0.5), (3, 0.3333)]

    client.resume_run(run_id)
    until_point(client, run_id, 4)
    skydeck.kill("worker")
    run = wait_ended(client, run_id)
    log = b"".join(client.iter_log_bytes(run_id)).decode()
    assert run["status"] == "succeeded", log
    again = [(3, 2.3333), (4, 2.25), (5, 2.2), (6, 2.1667)]
    assert read(client, run_id, "loss") == [(1, 1.0), (2, 0.5), *again]
    assert read(client, run_id, "lr") == [(step, 0.0015) for step in range(1, 7)]
    assert read(client, run_id, "eval/acc") == [(2, 52.0), (4, 54.0), (6, 56.0)]
    assert read(client, run_id, "rows") == [(6, 1234.0)]
    assert read(client, run_id, "rest") == [(6, None)]
    found = {one["key"]: (one["count"], one["non_finite"]) for one in client.list_metrics(run_id)}
    points = {"loss": (6, 0), "lr": (6, 0), "eval/acc": (3, 0), "rows": (1, 0), "rest": (1, 1)}
    assert found == points
    assert run["progress"]["step"] == 6


def until_point(client: Client, run_id: str, step: int) -> None:
    deadline = time.monotonic() + RUN_SECONDS
    while step not in [each for each, _ in read(client, run_id, "loss")]:
        assert time.monotonic() < deadline, client.get_run(run_id)
        time.sleep(0.2)
