"""Adam, gradient clipping, and the running mean of weights, all on flat vectors."""

from dataclasses import dataclass, field

import numpy as np

from worker.jobs.maze_grpo.vectors import Floats

_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8


@dataclass(slots=True)
class Adam:
    """State of Adam (Kingma and Ba, 2015, algorithm 1) without weight decay."""

    first: Floats
    second: Floats
    updates: int = field(default=0)

    @classmethod
    def zeros(cls, size: int) -> "Adam":
        """A fresh optimiser of `size` numbers."""
        return cls(np.zeros(size, np.float32), np.zeros(size, np.float32))

    def update(self, weights: Floats, gradient: Floats, *, lr: float) -> None:
        """One descent step of `weights`, in place."""
        self.updates += 1
        self.first += np.float32(1 - _BETA1) * (gradient - self.first)
        self.second += np.float32(1 - _BETA2) * (gradient * gradient - self.second)
        step = np.float32(lr / (1 - _BETA1**self.updates))
        scale = np.float32(1 / (1 - _BETA2**self.updates))
        weights -= step * self.first / (np.sqrt(self.second * scale) + np.float32(_EPSILON))

    def copy(self) -> "Adam":
        return Adam(self.first.copy(), self.second.copy(), self.updates)


def clip_norm(gradient: Floats, limit: float) -> float:
    """Scales `gradient` in place to a norm of at most `limit`; the norm before that."""
    norm = float(np.sqrt(np.dot(gradient, gradient)))
    if norm > limit:
        gradient *= np.float32(limit / norm)
    return norm


def follow(mean: Floats, weights: Floats, *, decay: float) -> None:
    """Exponential moving average of weights, in place: mean ← decay·mean + (1 − decay)·weights."""
    mean += np.float32(1 - decay) * (weights - mean)


def linear_decay(lr: float, *, step: int, steps: int, final: float) -> float:
    """Learning rate of `step` (from 1): `lr` at first, in a line to `lr * final` at `steps`."""
    done = (step - 1) / max(steps - 1, 1)
    return lr * (1 - (1 - final) * min(done, 1.0))
