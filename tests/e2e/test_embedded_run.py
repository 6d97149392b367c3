"""A real run on a real Ray head, launched and read through the API."""

import time

import pytest

from app.client import Client
from app.ray.head_state import read_head_state
from tests.e2e.runs import EVAL_EVERY, RUN_SECONDS, check_stored, launch, wait_ended
from tests.e2e.skydeck import Skydeck

pytestmark = [pytest.mark.ray, pytest.mark.slow]
STEPS = 12


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
