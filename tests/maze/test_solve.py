import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.maze.env import EXECUTED, MazeEnv
from app.maze.eval_sets import EVAL_SETS, EvalSet
from app.maze.generate import generate, size_of
from app.maze.solve import count_solvable, shortest_path, solvable_within, turns_needed


@given(st.integers(0, 10_000), st.sampled_from(["maze_2d/easy", "maze_2d/hard", "maze_2d/5x15"]))
def test_the_path_leads_to_the_target_without_turning_back(seed: int, env_id: str) -> None:
    env = MazeEnv.of(env_id)
    maze = env.reset(seed)
    path = shortest_path(maze)
    cells = {env.agent}
    for direction in path:
        assert env.step(f"('move', {direction})").feedback == EXECUTED
        cells.add(env.agent)
    assert env.agent == maze.target
    # In a tree the one path that enters no cell twice is the shortest.
    assert len(cells) == len(path) + 1


def test_a_path_can_start_anywhere_on_the_floor() -> None:
    maze = generate(0)
    assert shortest_path(maze, maze.target) == []
    for origin in [(0, 0), (-2, 1), (9, 9)]:
        with pytest.raises(ValueError, match="no floor cell"):
            shortest_path(maze, origin)


def test_the_last_turn_is_the_stop() -> None:
    maze = generate(1)
    assert turns_needed(maze) == 17
    assert solvable_within(maze, 17)
    assert not solvable_within(maze, 16)


@pytest.mark.parametrize("eval_set", EVAL_SETS.values(), ids=EVAL_SETS.keys())
def test_eval_sets_know_how_many_mazes_can_be_solved(eval_set: EvalSet) -> None:
    counted = count_solvable(eval_set.env_id, eval_set.seeds, max_turns=eval_set.max_turns)
    assert eval_set.solvable_count == counted
    assert len(set(eval_set.seeds)) == len(eval_set.seeds) == 64


def test_easy_solvable_15_takes_the_first_seeds_that_can_be_solved() -> None:
    seeds = EVAL_SETS["easy-solvable-15"].seeds
    height, width = size_of("maze_2d/easy")
    mazes = [generate(seed, height=height, width=width) for seed in range(seeds[-1] + 1)]
    assert seeds == tuple(n for n, maze in enumerate(mazes) if solvable_within(maze, 15))
