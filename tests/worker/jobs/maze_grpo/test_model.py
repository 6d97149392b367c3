import numpy as np
import pytest

from worker.jobs.maze_grpo.model import PIXELS, SHAPES, Policy, random_weights
from worker.jobs.maze_grpo.vectors import Floats, pack, pack_arrays, size_of


@pytest.fixture
def weights() -> dict[str, Floats]:
    rng = np.random.default_rng(5)
    made = random_weights(rng)
    for name in made:
        if name.endswith("bias"):
            made[name] = rng.standard_normal(SHAPES[name]).astype(np.float32) * 0.1
    return made


def pictures(count: int) -> Floats:
    return np.random.default_rng(6).standard_normal((count, PIXELS)).astype(np.float32)


def convolved(image: Floats, kernel: Floats, *, stride: int, padding: int) -> Floats:
    """The textbook convolution of (side, side, channels), one number at a time."""
    padded = np.pad(image, ((padding, padding), (padding, padding), (0, 0)))
    result = np.zeros((4, 4, len(kernel)), np.float32)
    for row, column, out in np.ndindex(result.shape):
        window = padded[row * stride : row * stride + 3, column * stride : column * stride + 3]
        result[row, column, out] = (window * kernel[out].transpose(1, 2, 0)).sum()
    return result


def test_it_has_as_many_numbers_as_described() -> None:
    assert size_of(SHAPES) == 30_845


def test_forward_is_the_network_that_is_described(weights: dict[str, Floats]) -> None:
    image = pictures(1)
    injected = convolved(image.reshape(9, 9, 3), weights["stem.weight"], stride=2, padding=0)
    injected += weights["stem.bias"]
    tokens = np.maximum(injected, 0)
    for _ in range(8):
        looped = convolved(tokens, weights["loop.weight"], stride=1, padding=1)
        tokens = np.maximum(looped + injected + weights["loop.bias"], 0)
    hidden = np.maximum(weights["out.weight"] @ tokens.ravel() + weights["out.bias"], 0)
    logits = (weights["head.weight"] @ hidden + weights["head.bias"]) / 0.5
    expected = logits - np.log(np.exp(logits).sum())
    got = Policy(weights, temperature=0.5).log_probs(image)[0]
    np.testing.assert_allclose(got, expected, atol=1e-4)


@pytest.mark.parametrize("name", SHAPES)
def test_backward_is_the_slope_of_the_loss(weights: dict[str, Floats], name: str) -> None:
    images, chosen = pictures(7), np.arange(7) % 5
    rng = np.random.default_rng(7)
    direction = rng.standard_normal(SHAPES[name]).astype(np.float32)
    direction /= np.linalg.norm(direction)

    def loss(step: float) -> float:
        moved = {**weights, name: weights[name] + np.float32(step) * direction}
        log_probs = Policy(moved, temperature=0.8).log_probs(images).astype(np.float64)
        return float(-log_probs[np.arange(7), chosen].sum())

    policy = Policy(weights, temperature=0.8)
    trace = policy.forward(images)
    d_logits = np.exp(trace.log_probs)
    d_logits[np.arange(7), chosen] -= 1
    slope = float((policy.backward(trace, d_logits)[name] * direction).sum())
    measured = (loss(1e-3) - loss(-1e-3)) / 2e-3
    assert slope == pytest.approx(measured, rel=0.03, abs=2e-3)


def test_packed_arrays_share_the_vector_and_reject_what_does_not_fit() -> None:
    packed = pack({"a": (2, 2), "b": (3,)})
    packed.views["b"][...] = 7
    assert packed.vector.tolist() == [0, 0, 0, 0, 7, 7, 7]
    with pytest.raises(ValueError, match="need 7 numbers"):
        pack({"a": (2, 2), "b": (3,)}, np.zeros(6, np.float32))
    with pytest.raises(ValueError, match="missing or unknown tensors: b"):
        pack_arrays({"a": (1,), "b": (1,)}, {"a": np.zeros(1, np.float32)})
    with pytest.raises(ValueError, match=r"tensor a has shape \(2,\)"):
        pack_arrays({"a": (1,)}, {"a": np.zeros(2, np.float32)})
