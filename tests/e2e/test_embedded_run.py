"""A real run on a real Ray head, launched and read through the API."""

import re
import signal
import time

import pytest

from app.client import Client
from app.ray.head_state import read_head_state
from tests.e2e.runs import EVAL_EVERY, RUN_SECONDS, check_stored, launch, wait_ended
from tests.e2e.skydeck import Skydeck, processes_of

pytestmark = [pytest.mark.ray, pytest.mark.slow]
STEPS = 12
# More than can be done until the signal arrives.
INTERRUPTED_STEPS = 60
CTRL_C_SECONDS = 20.0


def test_a_run_succeeds_and_everything_of_it_is_stored_once(skydeck: Skydeck) -> None:
    with skydeck.client() as client:
        run_id = launch(client, steps=STEPS)
        run = wait_ended(client, run_id)
        check_stored(client, skydeck.home, run_id, steps=STEPS)
        assert run["progress"]["step"] == run["progress"]["total_steps"] == STEPS
        assert run["progress"]["seconds_per_step"] > 0
        folder = skydeck.home / "runs" / run_id
        assert (folder / "ckpts" / f"global_step_{STEPS}").is_dir()
        assert (folder / "exports" / f"global_step_{EVAL_EVERY}").is_dir()


def test_a_run_is_stopped_saves_its_state_and_resumes_from_it(skydeck: Skydeck) -> None:
    with skydeck.client() as client:
        run_id = launch(client, steps=2_000)
        until_step(client, run_id, 2)
        client.stop_run(run_id)
        stopped = wait_ended(client, run_id)
        assert stopped["status"] == "stopped"
        at = stopped["progress"]["step"]
        client.resume_run(run_id)
        until_step(client, run_id, at + 2)
        client.stop_run(run_id)
        again = wait_ended(client, run_id)
        assert [one["status"] for one in again["attempts"]] == ["stopped", "stopped"]
        (series,) = client.read_series([run_id], ["trainer/global_step"])
        assert series["step"] == list(range(1, series["step"][-1] + 1))


def test_ctrl_c_during_a_run_costs_nothing_but_a_resume(skydeck: Skydeck) -> None:
    with skydeck.client() as client:
        run_id = launch(client, steps=INTERRUPTED_STEPS)
        until_step(client, run_id, 2)
    status, seconds = skydeck.stop(signal.SIGINT)
    assert status == 0, skydeck.said()
    assert seconds < CTRL_C_SECONDS
    assert processes_of(skydeck.home) == []

    skydeck.start_again()
    skydeck.wait_ready()
    skydeck.wait_head()
    with skydeck.client() as client:
        lost = wait_ended(client, run_id)
        assert lost["status"] == "lost"
        failure = lost["attempts"][0]["failure"]
        assert failure["class"] == "head_restarted"
        assert "Resume" in failure["hint"]
        log = b"".join(client.iter_log_bytes(run_id)).decode()
        saved = re.search(r"Stopped by SIGTERM after step (\d+)", log)
        assert saved is not None, log[-2_000:]
        client.resume_run(run_id)
        run = wait_ended(client, run_id)
        assert [one["status"] for one in run["attempts"]] == ["lost", "succeeded"]
        log = b"".join(client.iter_log_bytes(run_id)).decode()
        assert f"Resuming from global_step: {saved[1]}" in log
        (series,) = client.read_series([run_id], ["trainer/global_step"])
        assert series["step"] == list(range(1, INTERRUPTED_STEPS + 1))


def until_step(client: Client, run_id: str, step: int) -> None:
    deadline = time.monotonic() + RUN_SECONDS
    while (client.get_run(run_id)["progress"]["step"] or 0) < step:
        assert time.monotonic() < deadline, client.get_run(run_id)
        time.sleep(0.2)


def test_what_the_head_and_its_jobs_see_holds_no_secret_of_ours(skydeck: Skydeck) -> None:
    state = read_head_state(skydeck.home)
    assert state is not None
    assert state.leader is not None
    with open(f"/proc/{state.leader.pid}/environ", "rb") as file:
        names = {item.partition(b"=")[0] for item in file.read().split(b"\0")}
    assert not [name for name in names if name.startswith(b"SKYDECK_")]
