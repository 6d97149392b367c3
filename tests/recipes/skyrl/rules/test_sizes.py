"""The search for sizes that pass: what it suggests passes, and nothing nearer does."""

from collections.abc import Mapping
from dataclasses import replace
from math import lcm
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.recipes.skyrl.rules import Context, DataSet, check
from app.recipes.skyrl.rules.batch_fix import changes
from app.recipes.skyrl.rules.sizes import (
    Batch,
    nearest_batches,
    nearest_micros,
    nearest_minis,
)
from tests.recipes.skyrl.rules.tutorial import parse

FULL = parse().full
SIZES = st.integers(1, 96)
BATCHES = st.builds(
    Batch,
    train=SIZES,
    mini=SIZES,
    micro=st.integers(1, 16),
    samples=st.integers(1, 16),
    dp=st.integers(1, 16),
    ref_dp=st.none() | st.integers(1, 16),
    critic_mini=st.none(),
    rows=st.none() | st.integers(1, 300),
)


@given(BATCHES, st.none() | SIZES, st.integers(1, 16))
def test_what_is_suggested_fits(batch: Batch, critic_mini: int | None, critic_dp: int) -> None:
    if critic_mini is not None:
        batch = replace(batch, critic_mini=critic_mini, critic_dp=critic_dp)
    assert all(each.fits() for each in nearest_batches(batch))
    assert all(replace(batch, mini=each).fits() for each in nearest_minis(batch))
    assert all(replace(batch, micro=each).fits() for each in nearest_micros(batch))


@given(BATCHES)
def test_nothing_nearer_fits(batch: Batch) -> None:
    below = [each for each in range(1, batch.mini) if replace(batch, mini=each).fits()]
    above = [
        each for each in range(batch.mini + 1, batch.train + 1) if replace(batch, mini=each).fits()
    ]
    assert nearest_minis(batch) == [*below[-1:], *above[:1]]


@given(BATCHES)
def test_where_sizes_are_small_something_is_found(batch: Batch) -> None:
    """One sample a GPU always fits, if the data set has the prompts for it."""
    prompts = lcm(batch.parallel, batch.ref_dp or 1)
    if (batch.rows is None or batch.rows >= prompts) and prompts <= batch.train:
        assert nearest_batches(batch)


@given(BATCHES)
def test_fitting_is_what_the_rules_say(batch: Batch) -> None:
    assert batch.fits() == (not _wrong(batch, {}))


@given(BATCHES)
def test_a_suggestion_passes_the_rules(batch: Batch) -> None:
    assert not any(_wrong(batch, changes(batch, each)) for each in nearest_batches(batch))


def _wrong(batch: Batch, changed: Mapping[str, Any]) -> set[str]:
    """Rules of sizes that the same batch as a config breaks, with one GPU a node."""
    values = {
        "trainer.train_batch_size": batch.train,
        "trainer.policy_mini_batch_size": batch.mini,
        "trainer.micro_train_batch_size_per_gpu": batch.micro,
        "generator.n_samples_per_prompt": batch.samples,
        "trainer.placement.policy_num_nodes": batch.dp,
        "trainer.placement.policy_num_gpus_per_node": 1,
        "trainer.algorithm.use_kl_loss": batch.ref_dp is not None,
        "trainer.placement.ref_num_nodes": batch.ref_dp or 1,
        "trainer.placement.ref_num_gpus_per_node": 1,
    }
    context = Context(train=None if batch.rows is None else DataSet(rows=batch.rows))
    errors = check({**FULL, **values, **changed}, context=context).errors
    return {e.rule for e in errors if e.rule.startswith(("V16.", "E1.", "E2."))}
