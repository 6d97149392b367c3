"""What the policy sees: the mean colour of each 25 x 25 cell, scaled.

A PNG is decoded and box-filtered; training builds the same numbers from what the cells show.
Both are exactly equal, because both run the same filter on the same pixels.
"""

import base64
import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from app.maze.sprites import CELL_PIXELS, SPRITES
from worker.jobs.maze_grpo.model import COLOURS, PIXELS, SIDE
from worker.jobs.maze_grpo.vectors import Floats

_MEAN, _SPREAD = 0.78, 0.2
_PICTURE_SIDE = SIDE * CELL_PIXELS


def from_png(data: bytes) -> Floats:
    """The policy's input (243,) of a 225 x 225 picture file: row, column, colour.

    Raises `ValueError` if `data` is no picture or has another size.
    """
    try:
        with Image.open(io.BytesIO(data)) as image:
            frame = np.asarray(image.convert("RGB"))
    except UnidentifiedImageError:
        raise ValueError("not a picture") from None
    if frame.shape != (_PICTURE_SIDE, _PICTURE_SIDE, COLOURS):
        height, width, _ = frame.shape
        raise ValueError(f"need {_PICTURE_SIDE} x {_PICTURE_SIDE} pixels, got {width} x {height}")
    return _box_filter(frame).reshape(PIXELS)


def from_data_uri(uri: str) -> Floats:
    """The same of a picture in a `data:` URI. Raises `ValueError`."""
    head, comma, data = uri.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        raise ValueError("not a data URI in base64")
    return from_png(base64.b64decode(data, validate=True))


def from_kinds(kinds: NDArray[np.uint8]) -> Floats:
    """The policy's inputs (n, 243) of pictures whose cells show `kinds`, (n, 81)."""
    return _COLOURS[kinds].reshape(len(kinds), PIXELS)


def _box_filter(frame: NDArray[np.uint8]) -> Floats:
    """Scaled mean colours (rows, columns, 3) of a frame (rows * 25, columns * 25, 3)."""
    rows, columns = frame.shape[0] // CELL_PIXELS, frame.shape[1] // CELL_PIXELS
    cells = frame.reshape(rows, CELL_PIXELS, columns, CELL_PIXELS * COLOURS)
    lines = cells.sum(1, dtype=np.uint32).reshape(rows, columns, CELL_PIXELS, COLOURS)
    means = lines.sum(2, dtype=np.uint32) / (CELL_PIXELS * CELL_PIXELS * 255)
    scaled: Floats = ((means - _MEAN) / _SPREAD).astype(np.float32)
    return scaled


_COLOURS = np.concatenate([_box_filter(sprite)[0] for sprite in SPRITES])
