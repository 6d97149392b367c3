"""What a path says about where its files lie."""

import pytest

from app.recipes.skyrl.rules import Context, OtherRun
from app.recipes.skyrl.rules.keys import listed, name
from app.recipes.skyrl.rules.paths import free_folder, is_node_local, step_of
from tests.recipes.skyrl.rules.tutorial import findings, parse


@pytest.mark.parametrize(
    ("path", "is_local"),
    [
        ("/tmp/ckpts", True),
        ("~/ckpts/", True),
        ("ckpts", True),
        ("", True),
        ("/shared/runs", False),
        ("/sharedness", False),
        ("/tmp-but-not", False),
        ("/fsx/runs", False),
        ("s3://bucket/ckpts", False),
        ("/home/shared/runs", False),
    ],
)
def test_node_local_paths(path: str, is_local: bool) -> None:
    assert is_node_local(path, ("/shared", "/home/shared")) is is_local


@pytest.mark.parametrize(
    ("path", "step"),
    [
        ("/a/global_step_40", 40),
        ("/a/global_step_40/", 40),
        ("/global_step_3/best", None),
        ("s3://b/global_step_7", 7),
        ("", None),
    ],
)
def test_step_is_read_from_the_last_part_only(path: str, step: int | None) -> None:
    assert step_of(path) == step


def test_a_suggested_folder_is_nobody_elses() -> None:
    assert free_folder("/shared/runs", "a b/../c", []) == "/shared/runs/a-b-..-c"
    taken = ["/shared/runs/maze/ckpts", "/shared/runs/maze-2"]
    assert free_folder("/shared/runs", "maze", taken) == "/shared/runs/maze-3"


def test_run_folder_is_taken_where_it_is_known() -> None:
    context = Context(
        run_folder="/fsx/runs/{run_id}",
        other_runs=(OtherRun(name="old", lora_sync_path="/shared/lora"),),
    )
    values = {
        key: value
        for each in findings(parse(), context)
        for key, value in (each.fix_values or {}).items()
    }
    assert values["trainer.ckpt_path"] == "/fsx/runs/{run_id}/ckpts"
    assert values["trainer.policy.model.lora.lora_sync_path"] == "/fsx/runs/{run_id}/lora-sync"


def test_keys_are_called_by_the_part_that_tells_them_apart() -> None:
    keys = [
        name("trainer.train_batch_size"),
        name("trainer.policy.model.lora.rank"),
        name("trainer.logger"),
    ]
    assert listed(keys) == "train_batch_size, policy.model.lora.rank and trainer.logger"
