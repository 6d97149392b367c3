"""The evaluation sets that this policy can play, and the mazes that choose the base."""

from functools import cache

from app.maze.eval_sets import EASY_SOLVABLE_15, EVAL_SETS, EvalSet
from app.maze.generate import Maze, generate, size_of
from app.maze.parse import Dialect
from worker.jobs.maze_grpo.mazes import DEV_SEED, Drawn, Stream, layouts
from worker.jobs.maze_grpo.model import SIDE

DEV_MAZES = 512


class UnusableEvalSet(ValueError):
    """No evaluation set has that name, or the policy cannot play it."""


def eval_set(name: str) -> EvalSet:
    """The built-in set called `name`. Raises `UnusableEvalSet`."""
    usable = [
        each.name
        for each in EVAL_SETS.values()
        if each.dialect is Dialect.KEYWORD and size_of(each.env_id) == (SIDE, SIDE)
    ]
    if name not in usable:
        raise UnusableEvalSet(f"data.val_data must be one of {', '.join(usable)}, got {name!r}")
    return EVAL_SETS[name]


def mazes_of(chosen: EvalSet) -> tuple[Maze, ...]:
    """The mazes of an evaluation set, in its order."""
    return tuple(generate(seed) for seed in chosen.seeds)


@cache
def dev_mazes() -> tuple[Drawn, ...]:
    """512 solvable mazes, none of them in `easy-solvable-15`. They choose when cloning stops."""
    stream = Stream(DEV_SEED, excluded=layouts(mazes_of(EASY_SOLVABLE_15)))
    return tuple(stream.take(DEV_MAZES))
