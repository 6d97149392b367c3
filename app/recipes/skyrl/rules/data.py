"""Traps of the data sets: mazes of a group, mazes that are evaluated, mazes that are too long."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from app.maze.generate import generate, size_of
from app.maze.solve import turns_needed
from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.context import Context, DataSet
from app.recipes.skyrl.rules.registry import Flaw, Kind, rule
from app.recipes.skyrl.rules.view import View

_MOST_MAZES = 256
_LARGEST_MAZE = 15 * 15


@rule(Kind.WARNING, "trap.unseeded_rows", "data.train_data", k.SAMPLES)
def unseeded_rows(at: View, context: Context) -> Iterator[Flaw]:
    data, samples = context.train, at.whole(k.SAMPLES)
    if data is None or data.seeds is not None or samples < 2 or at.get(k.ESTIMATOR) == "gae":
        return
    first = _after(context.evaluation)
    yield Flaw(
        message=f"The {data.rows} training rows have no seed: the {samples} samples of a prompt "
        "play different mazes, and their advantages compare mazes instead of answers",
        fix=f"give the rows seeds from {first} on",
        fix_values=None if data.seed_key is None else {data.seed_key: first},
    )


@rule(Kind.WARNING, "trap.eval_seeds_trained", "data.train_data", "data.val_data")
def eval_seeds_trained(_at: View, context: Context) -> Iterator[Flaw]:
    train, evaluation = context.train, context.evaluation
    if train is None or evaluation is None or train.env_id != evaluation.env_id:
        return
    if train.seeds is None or evaluation.seeds is None:
        return
    both = _in_both(evaluation.seeds, train.seeds)
    if both:
        first = _after(evaluation)
        yield Flaw(
            message=f"{both} of the {len(evaluation.seeds)} mazes of the evaluation are also "
            "trained on: its solve rate says nothing about other mazes",
            fix=f"give the training rows seeds from {first} on",
            fix_values=None if train.seed_key is None else {train.seed_key: first},
        )


@rule(Kind.WARNING, "trap.turns_too_few", k.TURNS, "data.val_data")
def turns_too_few(at: View, context: Context) -> Iterator[Flaw]:
    turns, data = at.whole(k.TURNS), context.evaluation
    if data is None or data.seeds is None:
        return
    needed = turns_of(data.env_id, tuple(data.seeds[:_MOST_MAZES]))
    solvable = sum(each <= turns for each in needed)
    if solvable < len(needed):
        share = solvable / len(needed)
        yield Flaw(
            message=f"With {k.TURNS} {turns} only {solvable} of the {len(needed)} mazes of the "
            f"evaluation can be solved at all ({share:.1%}); the longest takes {max(needed)} "
            "turns, the stop included",
            fix=f"use {max(needed)}",
            fix_values={k.TURNS: max(needed)},
        )


@lru_cache(maxsize=32)
def turns_of(env_id: str, seeds: tuple[int, ...]) -> tuple[int, ...]:
    """Turns that each maze takes at least, the stop included; empty for what is no small maze."""
    try:
        height, width = size_of(env_id)
    except ValueError:
        return ()
    if height * width > _LARGEST_MAZE:
        return ()
    return tuple(turns_needed(generate(seed, height=height, width=width)) for seed in seeds)


def _after(data: DataSet | None) -> int:
    if data is None or not data.seeds:
        return 0
    seeds = data.seeds
    return (max(seeds[0], seeds[-1]) if isinstance(seeds, range) else max(seeds)) + 1


def _in_both(some: Sequence[int], others: Sequence[int]) -> int:
    """How many are in both; ranges of ten million are not gone through."""
    if isinstance(some, range) and isinstance(others, range) and some.step == others.step == 1:
        return max(0, min(some.stop, others.stop) - max(some.start, others.start))
    return len(set(some).intersection(others))
