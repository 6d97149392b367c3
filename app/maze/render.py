"""The picture of one episode.

The canvas lives as long as the episode. Upstream wipes the cell that the agent leaves with a white
disc, so a target that was walked over keeps a white disc.
"""

import numpy as np

from app.maze.generate import WALL, Cell, Maze
from app.maze.png import encode_kinds
from app.maze.sprites import CELL_PIXELS, SPRITES, Frame, Kind, Kinds, draw

_LEFT = {Kind.AGENT: Kind.FLOOR, Kind.AGENT_ON_TARGET: Kind.WIPED_TARGET}
_ENTERED = {
    Kind.FLOOR: Kind.AGENT,
    Kind.TARGET: Kind.AGENT_ON_TARGET,
    Kind.WIPED_TARGET: Kind.AGENT_ON_TARGET,
}


def start_kinds(maze: Maze) -> Kinds:
    """What each cell shows at the start of an episode, uint8 (height, width)."""
    kinds = np.where(maze.map == WALL, np.uint8(Kind.WALL), np.uint8(Kind.FLOOR))
    kinds[maze.target] = Kind.TARGET
    kinds[maze.start] = Kind.AGENT
    return kinds


class Canvas:
    """A maze, its agent, what the cells show, and their pixels.

    A move repaints the two cells that change.
    """

    def __init__(self, maze: Maze) -> None:
        self.maze = maze
        self.agent = maze.start
        self.kinds = start_kinds(maze)
        self._pixels: Frame | None = None

    def move_to(self, cell: Cell) -> None:
        """Takes the agent to `cell`, which must be floor."""
        self._paint(self.agent, _LEFT[Kind(self.kinds[self.agent])])
        self._paint(cell, _ENTERED[Kind(self.kinds[cell])])
        self.agent = cell

    def frame(self) -> Frame:
        """A copy of the picture as it is now, uint8 (height * 25, width * 25, 3)."""
        if self._pixels is None:
            self._pixels = draw(self.kinds)
        return self._pixels.copy()

    def png(self) -> bytes:
        """The picture as it is now, as a PNG file: the same RGB values as `frame()`."""
        return encode_kinds(self.kinds)

    def _paint(self, cell: Cell, kind: Kind) -> None:
        self.kinds[cell] = kind
        if self._pixels is not None:
            top, left = cell[0] * CELL_PIXELS, cell[1] * CELL_PIXELS
            self._pixels[top : top + CELL_PIXELS, left : left + CELL_PIXELS] = SPRITES[kind]
