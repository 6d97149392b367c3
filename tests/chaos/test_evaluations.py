"""SIGKILL at random moments of evaluations over the embedded endpoint: as if nothing had been.

`CHAOS_ROUNDS` and `CHAOS_SEED` are those of `test_kills.py`. Each round is an evaluation of its
own; in some the supervisor is killed with all that it started, and `skydeck up` goes on.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.client import Client
from app.errors import SkydeckError
from tests.chaos.test_kills import ROUNDS, SEED, Kill, kill_later
from tests.e2e.skydeck import Skydeck, running

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(580)]

SUPERVISOR = ("supervisor",)
TARGETS = (("endpoint",), ("worker",), SUPERVISOR, ("web", "endpoint"))
SETTINGS = {"EMBEDDED_CLUSTER": "off", "EMBEDDED_ENDPOINT": "on", "LEASE_SECONDS": "3"}
EVAL_SET = "easy-solvable-15"
END_SECONDS = 120.0


def test_evaluations_survive_kills_of_everything(tmp_path: Path) -> None:
    moments = random.Random(SEED)
    with running(tmp_path / "home", SETTINGS) as skydeck:
        models = [{"endpoint": listed(skydeck), "model": "maze-base"}]
        token = skydeck.token("write")
        expected = outcomes(wait_ended(skydeck, token, evaluate(skydeck, token, models)))
        for number in range(2 * ROUNDS):
            disturbed = evaluate(skydeck, token, models)
            kill = kill_one(skydeck, moments, TARGETS[number % len(TARGETS)])
            found = wait_ended(skydeck, token, disturbed)
            note = f"CHAOS_SEED={SEED}: {kill}"
            assert datetime.fromisoformat(found["ended_at"]) > kill.at, note
            assert outcomes(found) == expected, note
            assert len({each["episode_id"] for each in found["items"]}) == len(expected), note


def kill_one(skydeck: Skydeck, moments: random.Random, targets: Sequence[str]) -> Kill:
    """The supervisor is started again, as nobody else does that."""
    if targets != SUPERVISOR:
        return kill_later(skydeck, moments, targets)
    kill = kill_later(skydeck, moments, ())
    skydeck.abandon()
    skydeck.start_again()
    skydeck.wait_ready()
    return replace(kill, targets="supervisor")


def evaluate(skydeck: Skydeck, token: str, models: Sequence[dict[str, str]]) -> str:
    with Client(skydeck.url, token) as client:
        return str(client.create_evaluation(models, EVAL_SET, concurrency=2)["id"])


def listed(skydeck: Skydeck) -> str:
    """The embedded endpoint's id, once it lists its models."""
    skydeck.wait_ready()
    headers = {"Authorization": f"Bearer {skydeck.token('read')}"}
    until = time.monotonic() + 60
    while True:
        found = httpx.get(f"{skydeck.url}/api/v1/endpoints", headers=headers).json()["items"]
        if ready := [each["id"] for each in found if each["status"] == "ready"]:
            return str(ready[0])
        assert time.monotonic() < until, found
        time.sleep(0.2)


def wait_ended(skydeck: Skydeck, token: str, evaluation_id: str) -> dict[str, Any]:
    """The evaluation once it has ended well; while the web is away, it is asked again."""
    until, found = time.monotonic() + END_SECONDS, dict[str, Any]()
    while found.get("status") in (None, "queued", "running"):
        assert time.monotonic() < until, found
        time.sleep(0.2)
        try:
            with Client(skydeck.url, token) as client:
                found = client.get_evaluation(evaluation_id)
        except SkydeckError:
            found = {}
    assert found["status"] == "succeeded", found["status_reason"]
    return found


def outcomes(evaluation: dict[str, Any]) -> dict[int, tuple[str, int, float]]:
    """How each episode ended, by its seed."""
    return {
        each["seed"]: (each["outcome"], each["turns"], each["reward"])
        for each in evaluation["items"]
    }
