import numpy as np
import pytest

from worker.jobs.maze_grpo.optim import Adam, clip_norm, follow, linear_decay


def test_adam_follows_its_formula() -> None:
    gradients = [0.5, -2.0, 0.1]
    adam, weights = Adam.zeros(1), np.array([1.0], np.float32)
    first = second = 0.0
    expected = 1.0
    for count, gradient in enumerate(gradients, start=1):
        adam.update(weights, np.array([gradient], np.float32), lr=0.1)
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        corrected = (first / (1 - 0.9**count)) / ((second / (1 - 0.999**count)) ** 0.5 + 1e-8)
        expected -= 0.1 * corrected
        assert weights[0] == pytest.approx(expected, rel=1e-4)


def test_clipping_keeps_the_direction() -> None:
    gradient = np.array([3.0, 4.0], np.float32)
    assert clip_norm(gradient, 1.0) == pytest.approx(5.0)
    np.testing.assert_allclose(gradient, [0.6, 0.8], rtol=1e-6)
    assert clip_norm(gradient, 2.0) == pytest.approx(1.0)
    np.testing.assert_allclose(gradient, [0.6, 0.8], rtol=1e-6)


def test_the_mean_follows_the_weights() -> None:
    mean, weights = np.zeros(1, np.float32), np.ones(1, np.float32)
    for _ in range(3):
        follow(mean, weights, decay=0.5)
    assert mean[0] == pytest.approx(0.875)


def test_the_rate_falls_in_a_line() -> None:
    rates = [linear_decay(2.0, step=step, steps=5, final=0.1) for step in range(1, 6)]
    np.testing.assert_allclose(rates, [2.0, 1.55, 1.1, 0.65, 0.2])
    assert linear_decay(2.0, step=1, steps=1, final=0.1) == 2.0
