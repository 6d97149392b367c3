import numpy as np
import pytest

from worker.jobs.maze_grpo.lora import Lora
from worker.jobs.maze_grpo.model import random_weights
from worker.jobs.maze_grpo.vectors import size_of


def test_ranks_stop_at_what_a_layer_can_hold() -> None:
    lora = Lora(32, 32.0)
    assert lora.ranks == {"stem": 24, "loop": 24, "out": 32, "head": 5}
    assert size_of(lora.shapes) == 21_665
    assert size_of(Lora(16, 16.0).shapes) == 12_169


def test_a_new_adapter_changes_nothing() -> None:
    lora, base = Lora(8, 16.0), random_weights(np.random.default_rng(1))
    adapter = lora.new_adapter(np.random.default_rng(2))
    merged = lora.merge(base, adapter)
    assert all(np.array_equal(merged[name], base[name]) for name in base)
    assert adapter.views["out.lora_A"].std() == pytest.approx(384**-0.5, rel=0.05)


def test_merging_adds_the_scaled_product_to_the_kernel() -> None:
    lora, rng = Lora(8, 16.0), np.random.default_rng(3)
    base, adapter = random_weights(rng), lora.new_adapter(rng)
    adapter.vector[...] = rng.standard_normal(len(adapter.vector))
    merged = lora.merge(base, adapter)
    b, a = adapter.views["loop.lora_B"], adapter.views["loop.lora_A"]
    expected = base["loop.weight"] + 2 * (b @ a).reshape(24, 24, 3, 3)
    np.testing.assert_allclose(merged["loop.weight"], expected, atol=1e-5)
    assert merged["loop.bias"] is base["loop.bias"]


def test_gradient_is_the_slope_through_the_merge() -> None:
    lora, rng = Lora(8, 16.0), np.random.default_rng(4)
    base, adapter = random_weights(rng), lora.new_adapter(rng)
    adapter.vector[...] = rng.standard_normal(len(adapter.vector))
    full = {name: rng.standard_normal(w.shape).astype(np.float32) for name, w in base.items()}
    direction = rng.standard_normal(len(adapter.vector)).astype(np.float32)

    def loss(step: float) -> float:
        moved = lora.new_adapter(rng)
        moved.vector[...] = adapter.vector + step * direction
        weights = lora.merge(base, moved)
        return sum(float((full[n].astype(np.float64) * weights[n]).sum()) for n in weights)

    slope = float(lora.gradient(adapter, full) @ direction)
    assert slope == pytest.approx((loss(1e-2) - loss(-1e-2)) / 2e-2, rel=1e-2)
