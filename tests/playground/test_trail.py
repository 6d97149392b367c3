"""The way of an agent: where it was, and how it is drawn."""

import pytest

from app.episodes.states import Effect
from app.maze.generate import generate
from app.maze.solve import shortest_path
from app.playground.trail import (
    keyword_of,
    maze_of,
    moves_left,
    places,
    strokes,
    ways_out,
)
from tests.playground.factories import TASK, lane_after, said


def test_each_turn_has_its_place_and_its_moves_left() -> None:
    lane = lane_after([*said("up", "right", "right", "down"), "I am lost."])
    way = places(TASK.env_id, TASK.seed, lane.turns)
    assert [place.cell for place in way] == lane.cells
    assert [place.moves_left for place in way] == [12, 12, 11, 10, 9, 9]
    assert [place.heading for place in way] == [None, 1, 0, 0, 3, None]


@pytest.mark.parametrize("seed", range(20))
def test_moves_left_are_those_of_the_shortest_path(seed: int) -> None:
    maze = generate(seed)
    assert moves_left("maze_2d/easy", seed)[maze.start] == len(shortest_path(maze))


def test_a_bump_is_marked_and_a_turn_without_an_action_draws_nothing() -> None:
    lane = lane_after([*said("up", "right"), "I am lost."])
    lines = strokes(places(TASK.env_id, TASK.seed, lane.turns))
    assert [(line.turn, line.is_bump) for line in lines] == [(1, True), (2, False)]


def test_the_way_there_and_the_way_back_are_two_lines() -> None:
    lane = lane_after(said("right", "left"))
    there, back = strokes(places(TASK.env_id, TASK.seed, lane.turns))
    assert there.line == "M1.50 1.61L2.50 1.61"
    assert back.line == "M2.50 1.61L2.50 1.39L1.50 1.39"


def test_lines_meet_at_their_corner() -> None:
    lane = lane_after(said("right", "right", "down"))
    _, second, third = strokes(places(TASK.env_id, TASK.seed, lane.turns))
    assert second.line.rpartition("L")[2] == third.line.partition("L")[0].removeprefix("M")


@pytest.mark.parametrize(
    ("action", "word"),
    [
        ("('move', 0)", "right"),
        ('("move", 3)', "down"),
        ("('move', True)", "up"),
        ("('stop', 'now')", "stop"),
        ("('move', 7)", ""),
        ("('fly', 0)", ""),
        ("nonsense", ""),
        (None, ""),
    ],
)
def test_the_word_of_an_action(action: str | None, word: str) -> None:
    assert keyword_of(action) == word


def test_the_ways_out_are_where_no_wall_is() -> None:
    maze = maze_of(TASK.env_id, TASK.seed)
    assert ways_out(maze, maze.start) == ["right", "down"]
    assert lane_after(said("up")).turns[0].effect is Effect.BUMPED
