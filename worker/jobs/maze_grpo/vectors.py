"""Named float32 arrays that share one flat vector, so that one formula updates them all."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Shapes = Mapping[str, tuple[int, ...]]
Arrays = Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Pack:
    """`vector`, float32 (size,), and `views` into it by name. Writing one changes the other."""

    vector: Floats
    views: dict[str, Floats]


def size_of(shapes: Shapes) -> int:
    """Numbers needed to hold all `shapes`."""
    return sum(prod(shape) for shape in shapes.values())


def pack(shapes: Shapes, vector: Floats | None = None) -> Pack:
    """A pack over `vector`, which is not copied, or over zeros.

    Raises `ValueError` if `vector` has another size than `shapes` need.
    """
    if vector is None:
        vector = np.zeros(size_of(shapes), np.float32)
    if vector.shape != (size_of(shapes),):
        raise ValueError(f"need {size_of(shapes)} numbers, got an array of shape {vector.shape}")
    views, start = {}, 0
    for name, shape in shapes.items():
        end = start + prod(shape)
        views[name] = vector[start:end].reshape(shape)
        start = end
    return Pack(vector, views)


def pack_arrays(shapes: Shapes, arrays: Arrays) -> Pack:
    """A pack that holds a copy of `arrays`.

    Raises `ValueError` if a name is missing or unknown, or a shape differs.
    """
    if set(arrays) != set(shapes):
        odd = ", ".join(sorted(set(arrays) ^ set(shapes)))
        raise ValueError(f"missing or unknown tensors: {odd}")
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ValueError(f"tensor {name} has shape {arrays[name].shape}, not {shape}")
    result = pack(shapes)
    for name, view in result.views.items():
        view[...] = arrays[name]
    return result
