"""Everything that changes during training, and so everything that a checkpoint must hold."""

import copy
from dataclasses import dataclass

import numpy as np

from worker.jobs.maze_grpo.lora import Lora
from worker.jobs.maze_grpo.optim import Adam
from worker.jobs.maze_grpo.vectors import Pack, pack


@dataclass(slots=True)
class TrainState:
    """State after `step` whole steps."""

    step: int
    adapter: Pack
    """The adapter that samples and learns."""
    average: Pack
    """Its running mean: what is evaluated and exported."""
    adam: Adam
    rng: np.random.Generator
    next_seed: int
    """Maze seed at which the training stream goes on."""

    @classmethod
    def fresh(cls, lora: Lora, *, seed: int, next_seed: int) -> "TrainState":
        """The state before the first step."""
        rng = np.random.default_rng(seed)
        adapter = lora.new_adapter(rng)
        average = pack(lora.shapes, adapter.vector.copy())
        return cls(0, adapter, average, Adam.zeros(len(adapter.vector)), rng, next_seed)

    def copy(self, lora: Lora) -> "TrainState":
        """An independent copy."""
        return TrainState(
            self.step,
            pack(lora.shapes, self.adapter.vector.copy()),
            pack(lora.shapes, self.average.vector.copy()),
            self.adam.copy(),
            copy.deepcopy(self.rng),
            self.next_seed,
        )
