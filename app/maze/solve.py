"""Shortest paths, in VisGym's order of search (up, down, left, right)."""

from collections import deque
from collections.abc import Iterable

from app.maze.env import DIRECTIONS
from app.maze.generate import Cell, Maze, generate, size_of

_SEARCH_ORDER = (1, 3, 2, 0)


def shortest_path(maze: Maze, origin: Cell | None = None) -> list[int]:
    """Directions of the moves from `origin` (the maze's start if None) to the target.

    Indexes of `DIRECTIONS`, the payloads of `('move', i)`. Raises `ValueError` if `origin` is a
    wall or outside.
    """
    origin = maze.start if origin is None else origin
    inside = 0 <= origin[0] < maze.height and 0 <= origin[1] < maze.width
    if not inside or maze.is_wall(origin):
        raise ValueError(f"{origin} is no floor cell of the maze")
    arrived_by = _search(maze, origin)
    path: list[int] = []
    cell = maze.target
    while cell != origin:
        direction = arrived_by[cell]
        path.append(direction)
        cell = (cell[0] - DIRECTIONS[direction][0], cell[1] - DIRECTIONS[direction][1])
    return path[::-1]


def turns_needed(maze: Maze) -> int:
    """Moves of the shortest path and one stop."""
    return len(shortest_path(maze)) + 1


def solvable_within(maze: Maze, turns: int) -> bool:
    """True if the maze can be solved in `turns` turns at all."""
    return turns_needed(maze) <= turns


def count_solvable(env_id: str, seeds: Iterable[int], *, max_turns: int) -> int:
    """How many of the mazes can be solved in `max_turns`. Raises `ValueError` as `generate`."""
    height, width = size_of(env_id)
    mazes = (generate(seed, height=height, width=width) for seed in seeds)
    return sum(solvable_within(maze, max_turns) for maze in mazes)


def _search(maze: Maze, origin: Cell) -> dict[Cell, int]:
    """Breadth first until the target: for each cell met, the direction that led there."""
    arrived_by = {origin: -1}
    waiting = deque([origin])
    while maze.target not in arrived_by:
        row, column = waiting.popleft()
        for direction in _SEARCH_ORDER:
            ahead = (row + DIRECTIONS[direction][0], column + DIRECTIONS[direction][1])
            if ahead not in arrived_by and not maze.is_wall(ahead):
                arrived_by[ahead] = direction
                waiting.append(ahead)
    return arrived_by
