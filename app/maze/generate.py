"""Mazes of VisGym's `maze_2d`, the same maze for the same seed.

Source of the algorithm and of every draw: VisGym commit 0289034b,
`gymnasium/envs/maze_2d/maze_2d.py` (Wilson's loop-erased random walk).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from random import Random

import numpy as np
from numpy.typing import NDArray

Cell = tuple[int, int]
"""Row and column; row 0 is the top."""

FLOOR, WALL = 0, 1
MIN_SIZE, MAX_SIZE = 5, 99
SIZES: dict[str, Cell] = {"maze_2d/easy": (9, 9), "maze_2d/hard": (11, 11)}
"""Height and width in cells, outer wall included, of VisGym's registered environments."""

_CUSTOM_ID = re.compile(r"maze_2d/([0-9]{1,3})x([0-9]{1,3})")


@dataclass(frozen=True, slots=True, eq=False)
class Maze:
    """A perfect maze. `map` is a read-only uint8 array (height, width), 1 = wall, 0 = floor.

    Mazes are equal when map, start and target are.
    """

    map: NDArray[np.uint8]
    start: Cell
    target: Cell

    @property
    def height(self) -> int:
        return int(self.map.shape[0])

    @property
    def width(self) -> int:
        return int(self.map.shape[1])

    @property
    def layout(self) -> bytes:
        """Map, start and target as bytes: equal for equal mazes, usable as a key."""
        return self.map.tobytes() + bytes((self.height, *self.start, *self.target))

    def is_wall(self, cell: Cell) -> bool:
        return bool(self.map[cell] == WALL)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Maze) and self.layout == other.layout

    def __hash__(self) -> int:
        return hash(self.layout)


def generate(seed: int, *, height: int = 9, width: int = 9) -> Maze:
    """The maze that a fresh environment shows after `reset(seed=seed)`.

    Raises `ValueError` for a seed that is no integer ≥ 0 and for sizes that are not odd numbers
    from 5 to 99.
    """
    return generate_from(seeded(seed), height=height, width=width)


def generate_from(rng: np.random.Generator, *, height: int = 9, width: int = 9) -> Maze:
    """The next maze of `rng`, which goes on as the generator of a used environment does."""
    check_size(height, width)
    walk = Random(int(rng.integers(2**32)))  # noqa: S311 - a maze, not a secret
    cells = _carve(walk.getrandbits, height, width)
    corners = _corner_pairs(height, width)
    start, target = corners[int(rng.integers(0, len(corners)))]
    return Maze(np.frombuffer(cells, np.uint8).reshape(height, width), start, target)


def seeded(seed: int) -> np.random.Generator:
    """The generator that gymnasium makes of a seed. Raises `ValueError` for a bad seed."""
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"a seed must be an integer ≥ 0, not {seed!r}")
    return np.random.default_rng(seed)


def size_of(env_id: str) -> Cell:
    """Height and width of `maze_2d/easy`, `maze_2d/hard` or a custom `maze_2d/HEIGHTxWIDTH`.

    Raises `ValueError` for any other name or a size outside the limits.
    """
    if env_id in SIZES:
        return SIZES[env_id]
    custom = _CUSTOM_ID.fullmatch(env_id)
    if custom is None:
        known = ", ".join(SIZES)
        raise ValueError(f"unknown environment {env_id!r}: use {known} or maze_2d/HEIGHTxWIDTH")
    height, width = int(custom[1]), int(custom[2])
    check_size(height, width)
    return height, width


def check_size(height: int, width: int) -> None:
    """Raises `ValueError` unless both are odd numbers from 5 to 99."""
    for name, size in (("height", height), ("width", width)):
        if not isinstance(size, int) or size % 2 == 0 or not MIN_SIZE <= size <= MAX_SIZE:
            raise ValueError(
                f"maze {name} must be an odd number from {MIN_SIZE} to {MAX_SIZE}, not {size!r}"
            )


@lru_cache(maxsize=64)
def _corner_pairs(height: int, width: int) -> tuple[tuple[Cell, Cell], ...]:
    bottom, right = height - 2, width - 2
    falling = ((1, 1), (bottom, right))
    rising = ((bottom, 1), (1, right))
    return (falling, falling[::-1], rising, rising[::-1])


@lru_cache(maxsize=64)
def _room_graph(height: int, width: int) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Flat cell index of each room, and of each room the neighbour by direction or -1.

    Directions of the walk are right, down, left, up: not the order of the actions.
    """
    rows, cols = height // 2, width // 2
    cells = tuple((2 * r + 1) * width + 2 * c + 1 for r in range(rows) for c in range(cols))
    neighbours = tuple(
        (
            room + 1 if room % cols < cols - 1 else -1,
            room + cols if room // cols < rows - 1 else -1,
            room - 1 if room % cols > 0 else -1,
            room - cols if room // cols > 0 else -1,
        )
        for room in range(rows * cols)
    )
    return cells, neighbours


def _carve(bits: Callable[[int], int], height: int, width: int) -> bytes:
    """Wilson's algorithm over the rooms; the flat map, row-major, one byte a cell."""
    room_cells, neighbours = _room_graph(height, width)
    steps = (1, width, -1, -width)
    cells = bytearray([WALL]) * (height * width)
    unvisited = list(range(len(room_cells)))
    first = unvisited.pop(_below(bits, len(unvisited)))
    open_rooms = {first}
    cells[room_cells[first]] = FLOOR
    while unvisited:
        room = unvisited[_below(bits, len(unvisited))]
        path = _walk(bits, room, open_rooms=open_rooms, neighbours=neighbours)
        while room not in open_rooms:
            open_rooms.add(room)
            unvisited.remove(room)
            direction = path[room]
            cells[room_cells[room]] = FLOOR
            cells[room_cells[room] + steps[direction]] = FLOOR
            room = neighbours[room][direction]
    return bytes(cells)


def _walk(
    bits: Callable[[int], int],
    room: int,
    *,
    open_rooms: set[int],
    neighbours: tuple[tuple[int, ...], ...],
) -> dict[int, int]:
    """Random walk from `room` to an open room. The last direction from each room it met.

    Overwriting erases the loops.
    """
    path: dict[int, int] = {}
    while room not in open_rooms:
        following = -1
        while following < 0:
            # `Random.randint(0, 3)`: three bits, drawn anew above 3.
            direction = bits(3)
            while direction > 3:
                direction = bits(3)
            following = neighbours[room][direction]
        path[room] = direction
        room = following
    return path


def _below(bits: Callable[[int], int], limit: int) -> int:
    """`Random.randint(0, limit - 1)`, draw for draw, without its checks (half the time)."""
    size = limit.bit_length()
    value = bits(size)
    while value >= limit:
        value = bits(size)
    return value
