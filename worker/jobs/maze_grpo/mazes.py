"""Mazes by the batch: arrays to walk in, solvable mazes in seed order, and who uses which seeds.

Seeds that differ do not make mazes that differ: whoever must not meet a maze again excludes its
layout (map, start and target), not its seed.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.maze.generate import WALL, Maze, generate
from app.maze.sprites import Kind
from worker.jobs.maze_grpo.model import SIDE
from worker.jobs.maze_grpo.vectors import Bools, Ints

CELLS = SIDE * SIDE
STATES = 2 * CELLS
"""What a picture of a maze depends on: the agent's cell, and whether it has left the target once,
which leaves a white disc there. State = cell, + 81 if so."""

MOVES = (1, -SIDE, -1, SIDE)
"""Flat cell offsets of right, up, left, down: the order of the actions."""

MAX_MOVES = 14
"""Longest path that fits in the 15 turns of the default evaluation: the last turn is the stop."""

HELD_OUT_SEED, DEV_SEED, DEMO_SEED, TRAIN_SEED = 500_000, 1_000_000, 1_500_000, 2_000_000
"""First seeds of each use; evaluation sets count from 0."""
TRAIN_SEEDS_APART = 1_000_000

_CHUNK = 64


@dataclass(frozen=True, slots=True)
class Drawn:
    """A maze and the seed that makes it."""

    seed: int
    maze: Maze


@dataclass(frozen=True, slots=True)
class Board:
    """n mazes as arrays."""

    ground: NDArray[np.uint8]
    """`Kind` of each cell without the agent, (n, 81)."""
    starts: Ints
    targets: Ints
    next_cells: Ints
    """Cell after each of the four moves, (n, 81, 4): the same cell where a wall is in the way."""

    def __len__(self) -> int:
        return len(self.starts)

    def kinds(self, rows: Ints, states: Ints) -> NDArray[np.uint8]:
        """What the cells show, (m, 81), in maze `rows[i]` with the agent in `states[i]`."""
        cells, wiped = states % CELLS, states >= CELLS
        kinds = self.ground[rows]
        targets, each = self.targets[rows], np.arange(len(rows))
        kinds[each[wiped], targets[wiped]] = Kind.WIPED_TARGET
        kinds[each, cells] = np.where(cells == targets, Kind.AGENT_ON_TARGET, Kind.AGENT)
        return kinds

    def distances(self) -> Ints:
        """Moves from each cell to the target, (n, 81); -1 in walls."""
        walls = self.ground == Kind.WALL
        distance = np.full(walls.shape, -1)
        front = np.zeros_like(walls)
        front[np.arange(len(self)), self.targets] = True
        steps = 0
        while front.any():
            distance[front] = steps
            front = _neighbours(front) & ~walls & (distance < 0)
            steps += 1
        return distance


def board(mazes: Sequence[Maze]) -> Board:
    """The arrays of `mazes`, all 9 x 9."""
    maps = np.stack([maze.map.ravel() for maze in mazes])
    starts = np.array([maze.start[0] * SIDE + maze.start[1] for maze in mazes])
    targets = np.array([maze.target[0] * SIDE + maze.target[1] for maze in mazes])
    ground = np.where(maps == WALL, np.uint8(Kind.WALL), np.uint8(Kind.FLOOR))
    cells = np.arange(CELLS)
    beyond = (cells[:, None] + np.array(MOVES)) % CELLS
    next_cells = np.where(maps[:, beyond] == WALL, cells[:, None], beyond)
    ground[np.arange(len(mazes)), targets] = Kind.TARGET
    return Board(ground, starts, targets, next_cells)


class Stream:
    """Mazes whose target can be reached in `MAX_MOVES`, in the order of their seeds.

    `next_seed` is all that a later stream needs to go on from here.
    """

    def __init__(self, next_seed: int, *, excluded: Collection[bytes] = ()) -> None:
        """Mazes whose layout is among `excluded` are passed over."""
        self.next_seed = next_seed
        self._excluded = frozenset(excluded)
        self._ahead: deque[Drawn] = deque()
        self._generated = next_seed

    def take(self, count: int) -> list[Drawn]:
        """The next `count` mazes."""
        taken = [self._next() for _ in range(count)]
        self.next_seed = taken[-1].seed + 1
        return taken

    def _next(self) -> Drawn:
        while not self._ahead:
            seeds = range(self._generated, self._generated + _CHUNK)
            self._generated += _CHUNK
            self._ahead.extend(self._wanted(seeds))
        return self._ahead.popleft()

    def _wanted(self, seeds: Iterable[int]) -> Iterator[Drawn]:
        drawn = [Drawn(seed, generate(seed)) for seed in seeds]
        fits = path_lengths(board(mazes_in(drawn))) <= MAX_MOVES
        for item, fit in zip(drawn, fits, strict=True):
            if fit and item.maze.layout not in self._excluded:
                yield item


def path_lengths(mazes: Board) -> Ints:
    """Moves on the shortest path from start to target, (n,)."""
    lengths: Ints = mazes.distances()[np.arange(len(mazes)), mazes.starts]
    return lengths


def layouts(mazes: Iterable[Maze]) -> frozenset[bytes]:
    """What identifies the mazes, whatever their seeds."""
    return frozenset(maze.layout for maze in mazes)


def mazes_in(drawn: Iterable[Drawn]) -> list[Maze]:
    """The mazes without their seeds."""
    return [item.maze for item in drawn]


def train_seed(run_seed: int) -> int:
    """First maze seed of the training run with `trainer.seed` `run_seed`."""
    return TRAIN_SEED + run_seed * TRAIN_SEEDS_APART


def _neighbours(front: Bools) -> Bools:
    """Cells next to a cell of `front`. The outer wall keeps a wrap from mattering."""
    spread = np.zeros_like(front)
    for offset in MOVES:
        spread |= np.roll(front, offset, axis=1)
    return spread
