from itertools import pairwise

import numpy as np

from app.maze.eval_sets import EASY_SOLVABLE_15
from app.maze.generate import generate
from app.maze.solve import shortest_path
from worker.jobs.maze_grpo.mazes import (
    MAX_MOVES,
    Stream,
    board,
    layouts,
    mazes_in,
    path_lengths,
    train_seed,
)

MAZES = [generate(seed) for seed in range(60)]


def test_distances_are_those_of_the_solver() -> None:
    expected = [len(shortest_path(maze)) for maze in MAZES]
    assert path_lengths(board(MAZES)).tolist() == expected


def test_a_move_goes_to_the_next_cell_or_stays_at_a_wall() -> None:
    mazes = board(MAZES[:5])
    for row, maze in enumerate(MAZES[:5]):
        for cell in np.flatnonzero(maze.map.ravel() == 0).tolist():
            for move, (down, right) in enumerate(((0, 1), (-1, 0), (0, -1), (1, 0))):
                ahead = (cell // 9 + down, cell % 9 + right)
                expected = cell if maze.is_wall(ahead) else ahead[0] * 9 + ahead[1]
                assert mazes.next_cells[row, cell, move] == expected


def test_a_stream_from_0_begins_with_the_evaluation_set() -> None:
    drawn = Stream(0).take(64)
    assert tuple(each.seed for each in drawn) == EASY_SOLVABLE_15.seeds


def test_a_stream_passes_over_excluded_layouts_and_long_mazes() -> None:
    plain = mazes_in(Stream(0).take(20))
    rest = mazes_in(Stream(0, excluded=layouts(plain[:10])).take(10))
    assert layouts(rest) == layouts(plain[10:])
    assert path_lengths(board(rest)).max() <= MAX_MOVES


def test_a_stream_goes_on_from_its_next_seed_however_it_was_cut() -> None:
    whole = [each.seed for each in Stream(500).take(100)]
    seeds, stream = [], Stream(500)
    for count in (1, 63, 36):
        seeds += [each.seed for each in stream.take(count)]
        stream = Stream(stream.next_seed)
    assert seeds == whole
    assert all(first < then for first, then in pairwise(seeds))


def test_runs_of_different_seeds_train_on_different_mazes() -> None:
    assert train_seed(1) - train_seed(0) > 280 * 128 * 2
    assert len(layouts(MAZES)) == len({(m.map.tobytes(), m.start, m.target) for m in MAZES})
