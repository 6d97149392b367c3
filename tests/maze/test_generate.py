import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.maze.generate import (
    FLOOR,
    WALL,
    Maze,
    generate,
    generate_from,
    seeded,
    size_of,
)

seeds = st.integers(0, 2**70)
sizes = st.integers(2, 10).map(lambda rooms: 2 * rooms + 1)


@given(seeds, sizes, sizes)
def test_every_maze_is_a_tree_of_floor(seed: int, height: int, width: int) -> None:
    maze = generate(seed, height=height, width=width)
    floor = {(int(row), int(column)) for row, column in np.argwhere(maze.map == FLOOR)}
    edges = sum((row + 1, column) in floor for row, column in floor)
    edges += sum((row, column + 1) in floor for row, column in floor)
    assert _reached_from(maze.start, floor) == floor
    assert edges == len(floor) - 1
    assert maze.map[1::2, 1::2].max() == FLOOR, "each room is open"


@given(seeds, sizes, sizes)
def test_the_outer_wall_is_closed_and_the_ends_are_opposite_corners(
    seed: int, height: int, width: int
) -> None:
    maze = generate(seed, height=height, width=width)
    border = [*maze.map[0], *maze.map[-1], *maze.map[:, 0], *maze.map[:, -1]]
    assert set(border) == {WALL}
    assert {maze.start[0], maze.target[0]} == {1, height - 2}
    assert {maze.start[1], maze.target[1]} == {1, width - 2}


@given(seeds)
def test_a_seed_gives_one_maze(seed: int) -> None:
    first, second = generate(seed), generate(seed)
    assert first == second
    assert hash(first) == hash(second)
    assert first.layout == second.layout


def test_layouts_tell_mazes_apart() -> None:
    mazes = [generate(seed) for seed in range(50)]
    assert len(set(mazes)) == len({maze.layout for maze in mazes}) > 40
    ends_swapped = Maze(mazes[0].map, mazes[0].target, mazes[0].start)
    assert ends_swapped != mazes[0]


def test_a_generator_goes_on_to_other_mazes() -> None:
    rng = seeded(5)
    first = generate_from(rng)
    assert first == generate(5)
    assert generate_from(rng) != first


def test_a_maze_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        generate(0).map[1, 1] = WALL


@pytest.mark.parametrize("seed", [-1, 1.0, "0", None, True, np.int64(3)])
def test_bad_seeds_are_refused(seed: object) -> None:
    with pytest.raises(ValueError, match="seed must be an integer"):
        generate(seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [3, 8, 10, 101, 0, -9, 9.0])
def test_bad_sizes_are_refused(size: int) -> None:
    with pytest.raises(ValueError, match="maze height must be an odd number from 5 to 99"):
        generate(0, height=size)
    with pytest.raises(ValueError, match="maze width must be an odd number from 5 to 99"):
        generate(0, width=size)


def test_environments_have_sizes() -> None:
    assert size_of("maze_2d/easy") == (9, 9)
    assert size_of("maze_2d/hard") == (11, 11)
    assert size_of("maze_2d/7x21") == (7, 21)


@pytest.mark.parametrize(
    "env_id", ["maze_2d/medium", "maze_3d/easy", "", "maze_2d/8x9", "maze_2d/9x", "maze_2d/9x１１"]
)
def test_unknown_environments_are_refused(env_id: str) -> None:
    with pytest.raises(ValueError, match=r"unknown environment|odd number"):
        size_of(env_id)


def _reached_from(start: tuple[int, int], floor: set[tuple[int, int]]) -> set[tuple[int, int]]:
    reached, waiting = {start}, [start]
    while waiting:
        row, column = waiting.pop()
        near = {(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)}
        new = (near & floor) - reached
        reached |= new
        waiting += new
    return reached
