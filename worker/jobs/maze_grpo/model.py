"""The policy network: a picture of 9 x 9 cells in, log-probabilities of five answers out.

A 3x3 convolution with stride 2 makes 4 x 4 visual tokens of 24 channels; one weight-tied 3x3
convolution refines them eight times, `h ← relu(conv(h) + z + b)` with `z` the first one's output;
a hidden layer of 64 and a linear head follow. 30,845 numbers, float32, gradients by hand.

Each convolution runs as a dense matrix that is gathered from its kernel, so that all the work is
matrix products; the loop leaves out the rows of tokens that it does not connect. Kernels are
stored as (out, in, height, width).
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from worker.jobs.maze_grpo.vectors import Arrays, Floats, Ints

SIDE, COLOURS = 9, 3
PIXELS = SIDE * SIDE * COLOURS
TOKEN_SIDE = 4
VISUAL_TOKENS = TOKEN_SIDE * TOKEN_SIDE
ANSWERS = 5
_CHANNELS, _HIDDEN, _LOOPS, _KERNEL = 24, 64, 8, 3
_FEATURES = VISUAL_TOKENS * _CHANNELS

SHAPES: Mapping[str, tuple[int, ...]] = {
    "stem.weight": (_CHANNELS, COLOURS, _KERNEL, _KERNEL),
    "stem.bias": (_CHANNELS,),
    "loop.weight": (_CHANNELS, _CHANNELS, _KERNEL, _KERNEL),
    "loop.bias": (_CHANNELS,),
    "out.weight": (_HIDDEN, _FEATURES),
    "out.bias": (_HIDDEN,),
    "head.weight": (ANSWERS, _HIDDEN),
    "head.bias": (ANSWERS,),
}
"""Tensors of a whole model, as they lie in its safetensors file."""

LAYERS = ("stem", "loop", "out", "head")


@dataclass(frozen=True, slots=True)
class Trace:
    """What a forward pass of n pictures leaves for the backward pass."""

    pixels: Floats
    tokens: Floats
    """Visual tokens before and after each loop: (9, n, 384)."""
    hidden: Floats
    log_probs: Floats
    """(n, 5), natural logarithm, after the temperature."""


class Policy:
    """The network with one set of weights. Cheap to make anew after each update."""

    def __init__(self, weights: Arrays, *, temperature: float = 1.0) -> None:
        """`weights` are the tensors of `SHAPES`; logits are divided by `temperature` > 0."""
        self._stem = _dense(weights["stem.weight"], _STEM)
        self._loop = _dense(weights["loop.weight"], _LOOP)
        self._stem_bias = np.tile(weights["stem.bias"], VISUAL_TOKENS)
        self._loop_bias = np.tile(weights["loop.bias"], VISUAL_TOKENS)
        self._out, self._out_bias = weights["out.weight"], weights["out.bias"]
        self._head, self._head_bias = weights["head.weight"], weights["head.bias"]
        self._heat = np.float32(1 / temperature)

    def log_probs(self, pixels: Floats) -> Floats:
        """Natural log-probabilities (n, 5) of the answers to `pixels`, float32 (n, 243)."""
        return self.forward(pixels).log_probs

    def forward(self, pixels: Floats) -> Trace:
        """`log_probs`, with what `backward` needs."""
        injected = pixels @ self._stem + self._stem_bias
        tokens = np.empty((_LOOPS + 1, len(pixels), _FEATURES), np.float32)
        np.maximum(injected, 0, out=tokens[0])
        injected += self._loop_bias
        for now, then in itertools.pairwise(tokens):
            for row, near in _BANDS:
                np.matmul(now[:, near], self._loop[near, row], out=then[:, row])
            then += injected
            np.maximum(then, 0, out=then)
        hidden = np.maximum(tokens[-1] @ self._out.T + self._out_bias, 0)
        logits = (hidden @ self._head.T + self._head_bias) * self._heat
        return Trace(pixels, tokens, hidden, log_softmax(logits))

    def backward(self, trace: Trace, d_logits: Floats) -> dict[str, Floats]:
        """Gradients of all tensors of `SHAPES`, given the loss's by the heated logits (n, 5)."""
        d_logits = d_logits * self._heat
        d_hidden: Floats = (d_logits @ self._head) * (trace.hidden > 0)
        d_injected, d_tokens = self._backward_loops(trace, d_hidden @ self._out)
        return {
            "stem.weight": _kernel(trace.pixels.T @ d_injected, _STEM),
            "stem.bias": _channels(d_injected),
            "loop.weight": _kernel(_loop_products(trace.tokens[:-1], d_tokens), _LOOP),
            "loop.bias": _channels(d_tokens),
            "out.weight": d_hidden.T @ trace.tokens[-1],
            "out.bias": d_hidden.sum(0),
            "head.weight": d_logits.T @ trace.hidden,
            "head.bias": d_logits.sum(0),
        }

    def _backward_loops(self, trace: Trace, d_last: Floats) -> tuple[Floats, Floats]:
        """Gradients of the injected `z` (n, 384) and of each loop's sum (8, n, 384)."""
        d_sums = np.empty_like(trace.tokens[1:])
        d_injected = np.zeros_like(d_last)
        flowing = d_last
        for loop in reversed(range(_LOOPS)):
            np.multiply(flowing, trace.tokens[loop + 1] > 0, out=d_sums[loop])
            d_injected += d_sums[loop]
            flowing = np.empty_like(d_last)
            for row, near in _BANDS:
                np.matmul(d_sums[loop][:, near], self._loop[row, near].T, out=flowing[:, row])
        d_injected += flowing * (trace.tokens[0] > 0)
        return d_injected, d_sums


def log_softmax(logits: Floats) -> Floats:
    """Natural log of the softmax over the last axis."""
    shifted: Floats = logits - logits.max(-1, keepdims=True)
    result: Floats = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return result


def random_weights(rng: np.random.Generator) -> dict[str, Floats]:
    """He initialisation (variance 2 / fan in); biases zero; a small head, for even answers."""
    weights = {}
    for name, shape in SHAPES.items():
        fan_in = int(np.prod(shape[1:]))
        scale = np.sqrt(2 / fan_in) if name.endswith("weight") else 0.0
        if name == "loop.weight":
            scale *= 0.5  # applied eight times: the full scale would blow up
        if name == "head.weight":
            scale *= 0.1
        weights[name] = (rng.standard_normal(shape) * scale).astype(np.float32)
    return weights


@dataclass(frozen=True, slots=True)
class _Convolution:
    """Where the kernel's numbers lie in the dense matrix of one convolution."""

    channels: int
    sources: Ints
    """Input positions of the connections, sorted by place in the kernel, (connections,)."""
    sinks: Ints
    """Output positions of the same connections."""
    starts: Ints
    """First connection of each of the kernel's nine places."""
    places: Ints
    """Index into the flat kernel for each number of the dense matrix; zeros point past its end."""


def _convolution(*, side: int, channels: int, stride: int, padding: int) -> _Convolution:
    """From (side, side, channels) to (4, 4, 24), positions in row-major order."""
    connections = []
    for down, right, row, column in np.ndindex(_KERNEL, _KERNEL, TOKEN_SIDE, TOKEN_SIDE):
        source_row, source_column = row * stride + down - padding, column * stride + right - padding
        if 0 <= source_row < side and 0 <= source_column < side:
            source = source_row * side + source_column
            connections.append((down * _KERNEL + right, source, row * TOKEN_SIDE + column))
    place, sources, sinks = np.array(connections).T
    kernel = np.arange(_CHANNELS * channels * _KERNEL**2).reshape(_CHANNELS, channels, -1)
    places = np.full((side * side, channels, VISUAL_TOKENS, _CHANNELS), kernel.size)
    places[sources, :, sinks, :] = kernel[:, :, place].transpose(2, 1, 0)
    starts = np.searchsorted(place, np.arange(_KERNEL**2))
    return _Convolution(channels, sources, sinks, starts, places.reshape(-1, _FEATURES))


_STEM = _convolution(side=SIDE, channels=COLOURS, stride=2, padding=0)
_LOOP = _convolution(side=TOKEN_SIDE, channels=_CHANNELS, stride=1, padding=1)


def _dense(kernel: Floats, convolution: _Convolution) -> Floats:
    return np.append(kernel, np.float32(0))[convolution.places]


def _kernel(d_dense: Floats, convolution: _Convolution) -> Floats:
    """The gradient of a kernel from its dense matrix's."""
    channels = convolution.channels
    blocks = d_dense.reshape(-1, channels, VISUAL_TOKENS, _CHANNELS)
    connections = blocks[convolution.sources, :, convolution.sinks, :]
    sums = np.add.reduceat(connections, convolution.starts, axis=0)
    return sums.T.reshape(_CHANNELS, channels, _KERNEL, _KERNEL)


def _bands() -> list[tuple[slice, slice]]:
    """Of each row of visual tokens its columns, and those of the rows that the loop connects."""
    width = TOKEN_SIDE * _CHANNELS
    return [
        (
            slice(row * width, (row + 1) * width),
            slice(max(row - 1, 0) * width, min(row + 2, TOKEN_SIDE) * width),
        )
        for row in range(TOKEN_SIDE)
    ]


_BANDS = _bands()


def _loop_products(tokens: Floats, d_sums: Floats) -> Floats:
    """Gradient (384, 384) of the loop's dense matrix, where it can be other than zero."""
    inputs, outputs = tokens.reshape(-1, _FEATURES), d_sums.reshape(-1, _FEATURES)
    products = np.empty((_FEATURES, _FEATURES), np.float32)
    for row, near in _BANDS:
        np.matmul(inputs[:, near].T, outputs[:, row], out=products[near, row])
    return products


def _channels(d_tokens: Floats) -> Floats:
    """Sum of (…, 384) over everything but the channel."""
    total: Floats = d_tokens.reshape(-1, _CHANNELS).sum(0)
    return total
