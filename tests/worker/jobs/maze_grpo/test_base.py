import numpy as np

from app.maze.generate import generate
from app.maze.solve import shortest_path
from worker.jobs.maze_grpo import pixels
from worker.jobs.maze_grpo.answers import STOP
from worker.jobs.maze_grpo.base import (
    BASE_FILE,
    clone,
    demonstration_mazes,
    demonstrations,
    dev_solve_rate,
)
from worker.jobs.maze_grpo.evalsets import dev_mazes, eval_set, mazes_of
from worker.jobs.maze_grpo.export import read_base
from worker.jobs.maze_grpo.mazes import board, layouts, mazes_in
from worker.jobs.maze_grpo.model import SHAPES, Policy
from worker.jobs.maze_grpo.vectors import pack_arrays


def test_demonstrations_walk_the_shortest_path_and_stop() -> None:
    mazes = [generate(seed) for seed in range(20)]
    maze, state, answer = demonstrations(board(mazes))
    for index, each in enumerate(mazes):
        of_this = maze == index
        assert answer[of_this].tolist() == [*shortest_path(each), STOP]
        assert state[of_this][0] == each.start[0] * 9 + each.start[1]
        assert state[of_this][-1] == each.target[0] * 9 + each.target[1]


def test_evaluation_choice_and_demonstrations_share_no_maze() -> None:
    evaluated = layouts(mazes_of(eval_set("easy-solvable-15")))
    chosen_by, shown = mazes_in(dev_mazes()), mazes_in(demonstration_mazes().take(500))
    assert not layouts(chosen_by) & evaluated
    assert not layouts(shown) & (evaluated | layouts(chosen_by))


def test_the_shipped_base_is_where_the_rule_stopped() -> None:
    weights, facts = read_base(BASE_FILE)
    rate = dev_solve_rate(pack_arrays(SHAPES, weights))
    assert abs(rate - float(facts["dev_solve_rate"])) < 0.03
    assert 0.30 <= rate <= 0.55


def test_cloning_learns_from_the_demonstrations() -> None:
    progress = clone(0)
    first = next(progress)
    assert first.step == 10
    maze = board(mazes_in(demonstration_mazes().take(40)))
    losses = []
    for weights in (first.mean.views, pack_arrays(SHAPES, read_base(BASE_FILE)[0]).views):
        rows, states, answers = demonstrations(maze)
        log_probs = Policy(weights).log_probs(pixels.from_kinds(maze.kinds(rows, states)))
        losses.append(-log_probs[np.arange(len(answers)), answers].mean())
    assert np.log(5) > losses[0] > losses[1]
