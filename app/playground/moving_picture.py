"""An episode as a GIF: the pictures that the models got, side by side, one frame a turn."""

import io
from collections.abc import Sequence
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from app.maze.generate import Cell, Maze
from app.maze.render import Canvas
from app.maze.sprites import CELL_PIXELS, SPRITES, Kinds

MOST_FRAMES = 200
_MOST_PIXELS = 400
"""Height and width of one lane's picture."""
_MOST_BYTES = 32_000_000
"""Of all lanes' pictures, a byte a pixel: Pillow holds them until the file is written."""
_GAP_PIXELS = 12
_TURN_MS, _LAST_MS = 450, 1_800

Indexes = NDArray[np.uint8]
"""Pixels as indexes of the palette, uint8 (height, width)."""


def moving_picture(maze: Maze, lanes: Sequence[Sequence[Cell]]) -> bytes:
    """A GIF file that repeats; a lane that is over stands still.

    `lanes` has at least one: where its agent stood at the start and after each turn.

    Of a longer episode the first `MOST_FRAMES` frames are there; many pictures are smaller ones.
    Takes some 10 ms, a second for the largest mazes: not for the event loop.
    """
    # Here alone: other pages need none of it.
    from PIL import Image

    count = min(MOST_FRAMES, max(len(cells) for cells in lanes))
    colours, looks = _looks(_stride(maze, count * len(lanes)))
    columns = [_frames(maze, cells[:count], looks) for cells in lanes]
    images = []
    for turn in range(count):
        shown = [column[min(turn, len(column) - 1)] for column in columns]
        image = Image.fromarray(_beside(shown), mode="P")
        image.putpalette(colours)
        images.append(image)
    file = io.BytesIO()
    images[0].save(
        file,
        "GIF",
        save_all=True,
        append_images=images[1:],
        duration=[_TURN_MS] * (count - 1) + [_LAST_MS],
        loop=0,
    )
    return file.getvalue()


def _stride(maze: Maze, pictures: int) -> int:
    """Each how manieth pixel of a cell is kept, of so many pictures."""
    cells = max(maze.height, maze.width)
    pixels = min(_MOST_PIXELS, isqrt(_MOST_BYTES // pictures))
    return min(CELL_PIXELS, -(-cells * CELL_PIXELS // pixels))


def _looks(stride: int) -> tuple[bytes, Indexes]:
    """The palette, white first, and each kind's look in it: uint8 (kinds, height, width)."""
    small = SPRITES[:, ::stride, ::stride]
    colours, indexes = np.unique(small.reshape(-1, 3), axis=0, return_inverse=True)
    order = np.argsort(-colours.sum(axis=1, dtype=np.int64), kind="stable")
    ranks = np.argsort(order).astype(np.uint8)
    return colours[order].tobytes(), ranks[indexes.reshape(small.shape[:3])]


def _frames(maze: Maze, cells: Sequence[Cell], looks: Indexes) -> list[Indexes]:
    canvas = Canvas(maze)
    found: list[Indexes] = []
    for cell in cells:
        if cell != canvas.agent:
            canvas.move_to(cell)
        elif found:
            found.append(found[-1])
            continue
        found.append(_drawn(canvas.kinds, looks))
    return found


def _drawn(kinds: Kinds, looks: Indexes) -> Indexes:
    height, width = kinds.shape[0] * looks.shape[1], kinds.shape[1] * looks.shape[2]
    return np.ascontiguousarray(looks[kinds].transpose(0, 2, 1, 3)).reshape(height, width)


def _beside(frames: Sequence[Indexes]) -> Indexes:
    gap = np.zeros((frames[0].shape[0], _GAP_PIXELS), np.uint8)
    parts = [part for frame in frames for part in (gap, frame)][1:]
    return np.concatenate(parts, axis=1)
