"""GPUs of each config against what a cluster has, and rules of the cluster's administrator."""

from collections.abc import Mapping

import pytest

from app.models import Cluster, ClusterKind, ClusterStatus
from app.recipes import service as recipes
from app.recipes.model import Finding, Value
from app.sweeps import service
from app.sweeps.expansion import Explicit, Grid, Point
from app.sweeps.planning import Basis, Plan, plan

RECIPE = "visgym-sft-grpo"
BATCH, MINI, GPUS, ENGINES = (
    "trainer.train_batch_size",
    "trainer.policy_mini_batch_size",
    "trainer.placement.policy_num_gpus_per_node",
    "generator.inference_engine.num_engines",
)


def look(keys: Mapping[str, tuple[Value, ...]], *nodes: int, **given: object) -> Plan:
    seen = recipes.ClusterResources(name="team", gpus_by_node=nodes) if nodes else None
    values = recipes.resolve(RECIPE, {})
    basis = Basis(recipe=RECIPE, values=values, place=recipes.Place(cluster=seen), **given)  # type: ignore[arg-type]
    return plan(basis, Grid(keys))


def test_each_run_says_how_many_gpus_it_asks_for() -> None:
    found = look({"trainer.seed": (1, 2)})
    default = sum((recipes.examine(recipes.get(RECIPE), {}).gpus or {}).values())
    assert default > 0
    assert [run.gpus for run in found.runs] == [default, default]
    assert [bool(run.errors) for run in found.runs] == [False, False]


def test_a_cluster_that_is_too_small_refuses_what_does_not_fit() -> None:
    small, large = (look({"trainer.seed": (1,)}, count).runs[0] for count in (2, 64))
    assert small.errors
    assert small.values is None
    assert any("team" in each.message for each in small.errors)
    assert not large.errors
    assert small.gpus == large.gpus


def test_what_cannot_be_read_has_no_number_of_gpus() -> None:
    (run,) = look({BATCH: ("many",)}).runs
    assert run.gpus is None
    assert run.errors


def test_what_the_administrator_does_not_allow_is_said_of_each_run() -> None:
    barrier = Finding(rule="member_code", fields=("cluster",), message="no code of its own")
    found = look({"trainer.seed": (1, 2)}, refuse=lambda _: [barrier])
    assert [[each.rule for each in run.errors] for run in found.runs] == [["member_code"]] * 2
    assert [each.field for each in found.all_problems] == ["runs.1.cluster", "runs.2.cluster"]


@pytest.mark.parametrize(
    "key", ["trainer.ckpt_path", "trainer.export_path", "trainer.policy.model.lora.lora_sync_path"]
)
def test_runs_that_would_write_to_the_same_files_are_refused(key: str) -> None:
    keys: dict[str, tuple[Value, ...]] = {"trainer.seed": (1, 2)}
    shared = look({**keys, key: ("/shared/one",)})
    assert [run.values for run in shared.runs] == [None, None]
    for run in shared.runs:
        (error,) = run.errors
        assert (error.rule, error.fields) == ("same_path", (key,))
        assert "/shared/one/{run_id}" in (error.fix or "")
    own = look({**keys, key: ("/shared/one/{run_id}",)})
    assert not any(run.errors for run in own.runs)
    each_its_own = look({key: ("/shared/one", "/shared/two")})
    assert not any(run.errors for run in each_its_own.runs)


def test_a_number_to_leave_out_is_one_of_a_config() -> None:
    basis = Basis(recipe=RECIPE, values=recipes.resolve(RECIPE, {}))
    found = plan(basis, Grid({"trainer.seed": (1, 2)}), {2, 9})
    assert len(found.runs) == 2
    (problem,) = found.all_problems
    assert problem.field == "exclude"
    assert "no config 9" in problem.message
    assert "1 to 2" in problem.message
    assert plan(basis, Grid({"trainer.seed": (1, 2)}), {2}).all_problems == []


def test_a_run_is_not_named_by_a_key_that_it_lacks() -> None:
    key = "trainer.algorithm.value_head_prefix"
    basis = Basis(recipe=RECIPE, values=recipes.resolve(RECIPE, {}))
    points: tuple[Point, ...] = ({"trainer.seed": 1}, {"trainer.seed": 2, key: "score"})
    names = [run.name for run in plan(basis, Explicit(points)).runs]
    assert names == ["seed=1", "seed=2, value_head_prefix=score"]
    alone = [run.name for run in plan(basis, Explicit(({}, {key: "score"}))).runs]
    assert alone == ["defaults", "value_head_prefix=score"]


def test_a_run_that_is_left_out_writes_nowhere() -> None:
    values = {**recipes.resolve(RECIPE, {}), "trainer.ckpt_path": "/shared/one"}
    found = plan(Basis(recipe=RECIPE, values=values), Grid({"trainer.seed": (1, 2)}), {2})
    assert not found.all_problems


def test_the_gpus_of_a_cluster_are_those_of_nodes_that_were_seen() -> None:
    nodes = [{"gpu_count": 8}, {"gpu_count": 4}, {"gpu_count": 8, "is_alive": False}]
    # Only the embedded kind exists so far; any other is asked by its nodes.
    other = Cluster(kind="other", status=ClusterStatus.READY, details={"nodes": nodes})
    assert service.cluster_gpus(other) == 12
    assert service.cluster_gpus(Cluster(kind="other", details={})) is None
    assert service.cluster_gpus(Cluster(kind=ClusterKind.EMBEDDED, details={})) == 0
