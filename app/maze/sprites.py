"""What a cell of the maze looks like: 25 x 25 pixels, RGB equal to VisGym's pygame drawing.

Colours and the disc's pixels: `tests/conformance/data/visgym/disc_mask.json`.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

CELL_PIXELS = 25
Frame = NDArray[np.uint8]
"""RGB picture, uint8 (height * 25, width * 25, 3)."""
Kinds = NDArray[np.uint8]
"""What each cell shows: `Kind` values, uint8 (height, width)."""

_WHITE, _GREY, _RED, _BLUE = (255, 255, 255), (169, 169, 169), (255, 0, 0), (0, 0, 255)
_DISC_TOP = 6
_UPPER_SPANS = ((10, 13), (9, 14), (8, 15), (7, 16), (6, 17), (6, 17))
_DISC_SPANS = (*_UPPER_SPANS, *_UPPER_SPANS[::-1])


class Kind(IntEnum):
    """What a cell shows. Indexes `SPRITES`."""

    FLOOR = 0
    WALL = 1
    TARGET = 2
    AGENT = 3
    AGENT_ON_TARGET = 4
    WIPED_TARGET = 5


def draw(kinds: Kinds) -> Frame:
    """The frame of a grid of kinds, (height, width) → (height * 25, width * 25, 3)."""
    height, width = kinds.shape
    tiles = SPRITES[kinds].transpose(0, 2, 1, 3, 4)
    return np.ascontiguousarray(tiles).reshape(height * CELL_PIXELS, width * CELL_PIXELS, 3)


def _sprites() -> NDArray[np.uint8]:
    disc = np.zeros((CELL_PIXELS, CELL_PIXELS, 1), bool)
    for row, (left, right) in enumerate(_DISC_SPANS, start=_DISC_TOP):
        disc[row, left : right + 1] = True
    looks = {
        Kind.FLOOR: (_WHITE, _WHITE),
        Kind.WALL: (_GREY, _GREY),
        Kind.TARGET: (_RED, _RED),
        Kind.AGENT: (_WHITE, _BLUE),
        Kind.AGENT_ON_TARGET: (_RED, _BLUE),
        Kind.WIPED_TARGET: (_RED, _WHITE),
    }
    sprites = np.empty((len(Kind), CELL_PIXELS, CELL_PIXELS, 3), np.uint8)
    for kind, (ground, figure) in looks.items():
        sprites[kind] = np.where(disc, figure, ground)
    sprites.flags.writeable = False
    return sprites


SPRITES = _sprites()
"""Pixels of each `Kind`: uint8 (6, 25, 25, 3), read-only."""
