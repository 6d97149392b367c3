"""What became of an episode, in one word: how it was solved or why not. Pure."""

from collections.abc import Sequence
from itertools import pairwise

from app.episodes.states import Effect, Outcome
from app.maze.env import BUMPED, EXECUTED
from app.maze.generate import Cell


def effect_of(action: str | None, feedback: str, *, is_terminated: bool) -> Effect:
    """What an answer did, by the environment's own words; `action` None: none was found."""
    if action is None:
        return Effect.UNPARSED
    if is_terminated:
        return Effect.STOPPED
    return {EXECUTED: Effect.MOVED, BUMPED: Effect.BUMPED}.get(feedback, Effect.REFUSED)


def classify(effects: Sequence[Effect], cells: Sequence[Cell], *, target: Cell) -> Outcome:
    """The outcome of an episode that ended by itself.

    `cells` are where the agent stood: at the start and after each answer, so one more than
    `effects`. In a maze without circles whoever searches it through makes no move twice from the
    same cell, so a second time is a loop.
    """
    if effects and effects[-1] is Effect.STOPPED:
        return Outcome.SOLVED if cells[-1] == target else Outcome.WRONG_STOP
    if target in cells:
        return Outcome.NO_STOP
    if 2 * sum(each in (Effect.REFUSED, Effect.UNPARSED) for each in effects) >= len(effects):
        return Outcome.UNPARSABLE
    if 2 * effects.count(Effect.BUMPED) >= len(effects):
        return Outcome.WALL_BUMPING
    moves = [
        move
        for move, effect in zip(pairwise(cells), effects, strict=True)
        if effect is Effect.MOVED
    ]
    return Outcome.LOOPED if len(set(moves)) < len(moves) else Outcome.NO_STOP
