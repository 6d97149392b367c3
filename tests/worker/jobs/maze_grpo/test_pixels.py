import io

import numpy as np
import pytest
from PIL import Image

from app.maze.env import MazeEnv
from app.maze.episode import png_data_uri
from app.maze.png import encode_png
from app.maze.solve import shortest_path
from worker.jobs.maze_grpo import pixels
from worker.jobs.maze_grpo.mazes import CELLS, board
from worker.jobs.maze_grpo.model import SIDE


def walk(seed: int, moves: int) -> MazeEnv:
    env = MazeEnv()
    env.reset(seed)
    for move in np.random.default_rng(seed).integers(0, 4, moves):
        env.step(f"('move', {move})")
    return env


@pytest.mark.parametrize("seed", range(12))
def test_training_sees_exactly_what_a_png_shows(seed: int) -> None:
    env = walk(seed, moves=5 * seed)
    state = env.agent[0] * SIDE + env.agent[1]
    built = pixels.from_kinds(
        board([env.maze]).kinds(np.array([0]), np.array([state])),
    )[0]
    assert np.abs(pixels.from_png(env.png()) - built).max() == 0.0


def test_a_target_that_was_left_looks_otherwise_and_training_knows() -> None:
    env = MazeEnv()
    maze = env.reset(0)
    mazes = board([maze])
    for move in shortest_path(maze):
        env.step(f"('move', {move})")
    back = (shortest_path(maze)[-1] + 2) % 4
    env.step(f"('move', {back})")
    state = env.agent[0] * SIDE + env.agent[1]
    left = pixels.from_kinds(mazes.kinds(np.array([0]), np.array([state + CELLS])))[0]
    assert np.abs(pixels.from_png(env.png()) - left).max() == 0.0
    never = pixels.from_kinds(mazes.kinds(np.array([0]), np.array([state])))[0]
    assert np.abs(left - never).max() > 0.1


def test_how_the_png_was_written_does_not_matter() -> None:
    env = walk(3, moves=9)
    expected = pixels.from_png(env.png())
    assert np.array_equal(pixels.from_png(encode_png(env.frame())), expected)
    assert np.array_equal(pixels.from_data_uri(png_data_uri(env.png())), expected)
    palette = io.BytesIO()
    Image.fromarray(env.frame()).convert("P", palette=Image.Palette.ADAPTIVE).save(palette, "PNG")
    assert np.array_equal(pixels.from_png(palette.getvalue()), expected)


def test_other_data_is_refused() -> None:
    with pytest.raises(ValueError, match="not a picture"):
        pixels.from_png(b"nothing")
    small = io.BytesIO()
    Image.new("RGB", (225, 200)).save(small, "PNG")
    with pytest.raises(ValueError, match="need 225 x 225 pixels, got 225 x 200"):
        pixels.from_png(small.getvalue())
    with pytest.raises(ValueError, match="not a data URI in base64"):
        pixels.from_data_uri("https://example.org/maze.png")
