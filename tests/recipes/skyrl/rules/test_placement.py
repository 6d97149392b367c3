"""GPUs that a run needs, and smaller runs that fit a cluster."""

import pytest

from app.recipes.skyrl.rules import ClusterResources, Context, check
from app.recipes.skyrl.rules.placement import gpus_by_part
from app.recipes.skyrl.rules.view import View
from tests.recipes.skyrl.rules.tutorial import parse, put

APART = (
    "trainer.placement.colocate_all=false",
    "generator.inference_engine.num_engines=4",
    "generator.inference_engine.tensor_parallel_size=2",
)


@pytest.mark.parametrize(
    ("overrides", "gpus"),
    [
        ((), 6),
        (APART, 6 + 8),
        ((*APART, "trainer.algorithm.use_kl_loss=true"), 6 + 8),
        (
            (
                *APART,
                "trainer.algorithm.use_kl_loss=true",
                "trainer.placement.colocate_policy_ref=false",
            ),
            6 + 6 + 8,
        ),
        ((*APART, "trainer.critic.model.path=x", "trainer.critic_mini_batch_size=12"), 6 + 1 + 8),
    ],
)
def test_gpus_of_a_run(overrides: tuple[str, ...], gpus: int) -> None:
    assert sum(gpus_by_part(View(parse(*overrides).full)).values()) == gpus


@pytest.mark.parametrize("gpus_by_node", [(2, 2), (2,), (4,), (8, 8), (2, 2, 2, 2), (1, 1), (3,)])
def test_what_is_suggested_for_a_cluster_passes_there(gpus_by_node: tuple[int, ...]) -> None:
    cluster = ClusterResources(name="small", gpus_by_node=gpus_by_node)
    parsed = parse()
    errors = check(parsed.full, cluster=cluster).errors
    for error in errors:
        assert error.fix_values
        assert check(put(parsed, dict(error.fix_values)).full, cluster=cluster).ok
    assert bool(errors) == (sum(gpus_by_node) < 6)


def test_a_cluster_without_gpus_has_no_fix() -> None:
    cluster = ClusterResources(name="cpu", gpus_by_node=(0, 0))
    (error,) = check(parse().full, context=Context(cluster=cluster)).errors
    assert error.rule == "E9.cluster_gpus"
    assert error.fix_values is None
    assert error.fix


def test_engines_that_do_not_fill_the_gpus_get_a_number_that_does() -> None:
    parsed = parse("generator.inference_engine.tensor_parallel_size=4")
    (error,) = check(parsed.full).errors
    assert error.rule == "V24.rollout_gpus"
    assert check(put(parsed, dict(error.fix_values or {})).full).ok
