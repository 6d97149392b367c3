"""LoRA adapters: each layer's weight becomes `W + (alpha / rank) B A`.

Kernels count as matrices (out, in * height * width), so that an adapter of a convolution is the
one that PEFT makes. A layer smaller than the rank gets the largest rank it can hold; its alpha
shrinks with it, so that the factor is `alpha / rank` everywhere.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from worker.jobs.maze_grpo.model import LAYERS, SHAPES
from worker.jobs.maze_grpo.vectors import Arrays, Floats, Pack, pack


@dataclass(frozen=True, slots=True)
class Lora:
    """Rank and alpha as configured, and what follows from them."""

    rank: int
    alpha: float

    @property
    def factor(self) -> np.float32:
        return np.float32(self.alpha / self.rank)

    @property
    def ranks(self) -> dict[str, int]:
        """The rank of each layer: at most `rank`, at most the smaller side of its matrix."""
        return {layer: min(self.rank, *_matrix_shape(layer)) for layer in LAYERS}

    @property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """`<layer>.lora_A` (rank, in) and `<layer>.lora_B` (out, rank) of each layer."""
        shapes = {}
        for layer, rank in self.ranks.items():
            rows, columns = _matrix_shape(layer)
            shapes[f"{layer}.lora_A"] = (rank, columns)
            shapes[f"{layer}.lora_B"] = (rows, rank)
        return shapes

    def new_adapter(self, rng: np.random.Generator) -> Pack:
        """An adapter that changes nothing yet: A ~ N(0, 1 / in), B = 0."""
        adapter = pack(self.shapes)
        for name, view in adapter.views.items():
            if name.endswith("lora_A"):
                view[...] = rng.standard_normal(view.shape) / np.sqrt(view.shape[1])
        return adapter

    def merge(self, base: Arrays, adapter: Pack) -> dict[str, Floats]:
        """The weights of `base` with `adapter` added; biases as they are."""
        weights = dict(base)
        for layer in LAYERS:
            change = adapter.views[f"{layer}.lora_B"] @ adapter.views[f"{layer}.lora_A"]
            name = f"{layer}.weight"
            weights[name] = base[name] + self.factor * change.reshape(SHAPES[name])
        return weights

    def gradient(self, adapter: Pack, full: Arrays) -> Floats:
        """The adapter's gradient as a flat vector, from the gradients of the merged weights."""
        result = pack(self.shapes)
        for layer in LAYERS:
            d_weight = full[f"{layer}.weight"].reshape(_matrix_shape(layer))
            a, b = f"{layer}.lora_A", f"{layer}.lora_B"
            result.views[a][...] = self.factor * (adapter.views[b].T @ d_weight)
            result.views[b][...] = self.factor * (d_weight @ adapter.views[a].T)
        return result.vector


def _matrix_shape(layer: str) -> tuple[int, int]:
    rows, *rest = SHAPES[f"{layer}.weight"]
    return rows, prod(rest)
