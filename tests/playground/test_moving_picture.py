"""The GIF shows what the models got to see."""

import io
import tracemalloc

import numpy as np
from PIL import Image, ImageSequence

from app.maze.generate import generate
from app.maze.replay import replay
from app.playground.moving_picture import MOST_FRAMES, moving_picture
from tests.playground.factories import TASK, lane_after, said


def frames(gif: bytes) -> list[np.ndarray]:
    image = Image.open(io.BytesIO(gif))
    return [np.asarray(each.convert("RGB")) for each in ImageSequence.Iterator(image)]


def test_each_frame_is_the_picture_of_its_turn() -> None:
    lane = lane_after(said("right", "right", "down"))
    found = frames(moving_picture(lane.maze, [lane.cells]))
    actions = [turn.action for turn in lane.turns]
    wanted = [env.frame() for env in replay(TASK.env_id, TASK.seed, actions=actions)]
    assert len(found) == len(wanted)
    assert all(np.array_equal(one, other) for one, other in zip(found, wanted, strict=True))


def test_lanes_stand_side_by_side_and_the_one_that_is_over_stands_still() -> None:
    long, short = lane_after(said("right", "right", "down")), lane_after(said("stop"))
    found = frames(moving_picture(long.maze, [long.cells, short.cells]))
    assert found[0].shape == (225, 462, 3)
    assert np.array_equal(found[-1][:, 237:], found[0][:, 237:])


def test_a_large_maze_and_a_long_episode_are_bounded() -> None:
    maze = generate(1, height=99, width=99)
    down = (maze.start[0], maze.start[1])
    gif = moving_picture(maze, [[down] * 500])
    image = Image.open(io.BytesIO(gif))
    assert max(image.size) <= 400
    assert len(frames(gif)) <= MOST_FRAMES


def test_many_large_pictures_are_smaller_ones() -> None:
    maze = generate(1, height=99, width=99)
    rooms = [(row, column) for row in range(1, 98, 2) for column in (1, 3)]
    tracemalloc.start()
    gif = moving_picture(maze, [(rooms * 3)[:MOST_FRAMES]] * 4)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000_000
    image = Image.open(io.BytesIO(gif))
    assert image.height == 198
