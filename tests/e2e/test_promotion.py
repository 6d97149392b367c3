"""From a real run to a served adapter: found, promoted, and there under its own name."""

import json
from pathlib import Path

import httpx
import pytest

from app.checkpoints.exports import CONFIG, WEIGHTS
from tests.e2e.runs import EVAL_EVERY, launch, wait_ended
from tests.e2e.skydeck import GROUP, Skydeck

pytestmark = [GROUP, pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(580)]
STEPS = 8


def test_what_a_run_exports_is_found_promoted_and_served(skydeck: Skydeck) -> None:
    with skydeck.client() as client:
        run_id = launch(client, steps=STEPS)
        run = wait_ended(client, run_id)
        assert run["status"] == "succeeded", run
        found = list(client.list_checkpoints(run_id))
        places = {(each["kind"], each["step"]) for each in found}
        wanted = range(EVAL_EVERY, STEPS + 1, EVAL_EVERY)
        assert places == {(kind, step) for kind in ("adapter", "state") for step in wanted}
        assert all(each["complete"] and each["size_bytes"] for each in found), found
        assert all(each["solve_rate"] is not None and each["n"] == 64 for each in found)
        assert sum(each["is_best_exportable"] for each in found) == 1
        promotion = client.wait_promotion(client.promote(client.find_export(run_id)["id"])["id"])
        assert promotion["status"] == "succeeded", promotion
        step = promotion["step"]
        (adapter,) = client.list_adapters(run=run_id)["items"]
    export = skydeck.home / "runs" / run_id / "exports" / f"global_step_{step}" / "policy"
    folder = skydeck.home / "adapters" / promotion["adapter_name"]
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == {
        name: (export / name).read_bytes() for name in (WEIGHTS, CONFIG)
    }
    best = next(each for each in found if each["is_best_exportable"])
    assert adapter["evaluation"]["solve_rate"] == best["solve_rate"]
    assert promotion["model"] in served(skydeck.home)


def served(home: Path) -> list[str]:
    """The model ids that the endpoint names."""
    announced = json.loads((home / "endpoint.json").read_text())
    answer = httpx.get(
        f"{announced['base_url']}/models", headers={"Authorization": f"Bearer {announced['key']}"}
    )
    return [each["id"] for each in answer.json()["data"]]
