"""How an episode's end is called."""

import pytest

from app.episodes.outcomes import classify, effect_of
from app.episodes.states import Effect, Outcome
from app.maze.env import BUMPED, EXECUTED

MOVED, BUMP, STOP = Effect.MOVED, Effect.BUMPED, Effect.STOPPED
LOST, REFUSED = Effect.UNPARSED, Effect.REFUSED
A, B, C, D, TARGET = (1, 1), (1, 2), (1, 3), (2, 3), (7, 7)


@pytest.mark.parametrize(
    ("effects", "cells", "outcome"),
    [
        ([MOVED, STOP], [A, TARGET, TARGET], Outcome.SOLVED),
        ([MOVED, STOP], [A, B, B], Outcome.WRONG_STOP),
        ([MOVED, MOVED], [A, TARGET, A], Outcome.NO_STOP),
        ([MOVED, MOVED, MOVED], [A, B, C, D], Outcome.NO_STOP),
        # There and back is a search; only the second time is it a loop.
        ([MOVED] * 4, [A, B, A, (2, 1), (3, 1)], Outcome.NO_STOP),
        ([MOVED] * 3, [A, B, A, B], Outcome.LOOPED),
        ([MOVED, BUMP], [A, B, B], Outcome.WALL_BUMPING),
        ([MOVED, MOVED, BUMP], [A, B, C, C], Outcome.NO_STOP),
        ([LOST, BUMP], [A, A, A], Outcome.UNPARSABLE),
        ([REFUSED, LOST, MOVED], [A, A, A, B], Outcome.UNPARSABLE),
        ([MOVED, LOST, LOST, LOST], [A, TARGET, TARGET, TARGET, TARGET], Outcome.NO_STOP),
    ],
)
def test_an_end_has_one_name(
    effects: list[Effect], cells: list[tuple[int, int]], outcome: Outcome
) -> None:
    assert classify(effects, cells, target=TARGET) is outcome


@pytest.mark.parametrize(
    ("action", "feedback", "is_terminated", "effect"),
    [
        (None, "Action parsing failed.", False, LOST),
        ("('move', 0)", EXECUTED, False, MOVED),
        ("('move', 0)", BUMPED, False, BUMP),
        ("('stop', 'stop')", EXECUTED, True, STOP),
        ("('row', 1)", "The action name 'row' is not recognized …", False, REFUSED),
    ],
)
def test_an_answer_has_one_effect(
    action: str | None, feedback: str, is_terminated: bool, effect: Effect
) -> None:
    assert effect_of(action, feedback, is_terminated=is_terminated) is effect
