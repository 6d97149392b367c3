"""Small pictures drawn on the server: sparklines and mazes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.maze.env import DIRECTIONS
from app.maze.generate import Maze, generate, size_of
from app.maze.solve import shortest_path


@dataclass(frozen=True, slots=True)
class MazePicture:
    """A maze as SVG paths in cells: one unit is one cell, (0, 0) the top left corner.

    `walls` is filled, `route` is the line of the only way from start to target.
    """

    width: int
    height: int
    walls: str
    route: str
    target_x: float
    target_y: float


@lru_cache(maxsize=4096)
def maze_picture(env_id: str, seed: int) -> MazePicture:
    """The maze of a seed. Raises `ValueError` for an unknown environment or a bad seed."""
    height, width = size_of(env_id)
    maze = generate(seed, height=height, width=width)
    row, column = maze.target
    return MazePicture(width, height, _walls(maze), _route(maze), column + 0.5, row + 0.5)


def sparkline(values: Sequence[float], *, width: int = 72, height: int = 20) -> str:
    """Points of an SVG polyline through `values`, which lie between 0 and 1."""
    if not values:
        return ""
    span = max(1, len(values) - 1)
    inner = height - 2
    return " ".join(
        f"{index * width / span:.1f},{1 + inner * (1 - min(1.0, max(0.0, value))):.1f}"
        for index, value in enumerate(values)
    )


def _walls(maze: Maze) -> str:
    """One rectangle a horizontal stretch of wall: a third of the bytes of one a cell."""
    parts: list[str] = []
    for y, row in enumerate(maze.map.tolist()):
        x = 0
        while x < len(row):
            length = 0
            while x + length < len(row) and row[x + length]:
                length += 1
            if length:
                parts.append(f"M{x} {y}h{length}v1h-{length}z")
            x += max(1, length)
    return "".join(parts)


def _route(maze: Maze) -> str:
    row, column = maze.start
    points = [f"M{column + 0.5:g} {row + 0.5:g}"]
    for direction in shortest_path(maze):
        down, right = DIRECTIONS[direction]
        points.append(f"l{right} {down}")
    return "".join(points)
