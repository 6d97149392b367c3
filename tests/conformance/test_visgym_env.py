"""`app.maze` against recordings of the real VisGym: mazes, pictures, single steps."""

import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.maze.env import MazeEnv
from app.maze.generate import generate, size_of
from app.maze.solve import shortest_path, turns_needed
from app.maze.sprites import SPRITES, Frame, Kind
from tests.conformance.cases import case_files

# A frame's name: environment, seed, and the moment (a step of the shortest path, or in words).
_FRAME_NAME = re.compile(r"(easy|hard)_seed(\d+)_(?:step(\d+)|after_leaving_target)")


def _cases(pattern: str, key: str) -> list[Any]:
    """One parameter for each item of the files' list `key`, with its environment's id."""
    found = []
    for path in case_files("visgym", pattern):
        recording = json.loads(path.read_text())
        env_id = recording["meta"]["env_id"]
        for case in recording[key]:
            name = f"{path.stem}-{case.get('name', case['seed'])}"
            found.append(pytest.param(env_id, case, id=name))
    return found


@pytest.mark.parametrize(("env_id", "case"), _cases("maze_2d_*_seeds.json", "seeds"))
def test_seed_gives_the_recorded_maze(env_id: str, case: dict[str, Any]) -> None:
    env = MazeEnv.of(env_id)
    maze = env.reset(case["seed"])
    ours = {
        "seed": case["seed"],
        "maze_map": maze.map.tolist(),
        "agent": [*env.agent],
        "target": [*maze.target],
        "distance": env.distance,
        "optimal_moves": len(shortest_path(maze)),
        "optimal_actions": turns_needed(maze),
        "optimal_directions": shortest_path(maze),
        "env_feedback_after_reset": env.feedback,
        "frame_shape": [*env.frame().shape],
        "frame_sha256": _check_png(env),
    }
    # Not every recording has every field, but these make a maze.
    assert case.keys() >= {"maze_map", "agent", "target", "frame_sha256"}
    recorded = {key: case[key] for key in case.keys() & ours.keys()}
    assert {key: ours[key] for key in recorded} == recorded


@pytest.mark.parametrize(("env_id", "script"), _cases("maze_2d_*_scripts.json", "scripts"))
def test_steps_do_what_was_recorded(env_id: str, script: dict[str, Any]) -> None:
    env = MazeEnv.of(env_id)
    maze = env.reset(script["seed"])
    assert [*env.agent] == script["start_agent"]
    assert [*maze.target] == script["target"]
    for expected in script["steps"]:
        step = env.step(expected["action"])
        assert step.reward == expected["reward"]
        assert step.terminated == expected["terminated"]
        assert step.truncated == expected["truncated"]
        assert step.feedback == expected["env_feedback"]
        assert [*env.agent] == expected["agent"]
        assert env.distance == expected["distance"]
        assert _check_png(env) == expected["frame_sha256"]


@pytest.mark.parametrize("path", case_files("visgym", "frames/*.png"), ids=lambda path: path.stem)
def test_frames_equal_the_recorded_files(path: Path) -> None:
    matched = _FRAME_NAME.fullmatch(path.stem)
    assert matched is not None, "a frame's name must say how to reach it"
    env = MazeEnv.of(f"maze_2d/{matched[1]}")
    maze = env.reset(int(matched[2]))
    directions = shortest_path(maze)
    if matched[3] is not None:
        directions = directions[: int(matched[3])]
    else:
        directions.append((directions[-1] + 2) % 4)
    for direction in directions:
        env.step(f"('move', {direction})")
    assert np.array_equal(env.frame(), _decoded(path.read_bytes()))


@pytest.mark.parametrize("path", case_files("visgym", "disc_mask.json"), ids=str)
def test_sprites_have_the_recorded_disc_and_colours(path: Path) -> None:
    mask = json.loads(path.read_text())
    disc = np.zeros((mask["cell_px"], mask["cell_px"]), bool)
    for row, (left, right) in mask["disc_rows_to_col_span_inclusive"].items():
        disc[int(row), left : right + 1] = True
    assert disc.sum() == mask["pixels"]
    looks = {
        Kind.FLOOR: (mask["floor"], mask["floor"]),
        Kind.WALL: (mask["wall"], mask["wall"]),
        Kind.TARGET: (mask["target"], mask["target"]),
        Kind.AGENT: (mask["floor"], mask["disc_color"]),
        Kind.AGENT_ON_TARGET: (mask["target"], mask["disc_color"]),
        Kind.WIPED_TARGET: (mask["target"], mask["erase_color"]),
    }
    for kind, (ground, figure) in looks.items():
        assert np.array_equal(SPRITES[kind], np.where(disc[..., None], figure, ground)), kind


def test_a_used_environment_gives_the_maze_of_a_seed_again() -> None:
    env = MazeEnv.of("maze_2d/hard", seed=7)
    env.reset()
    height, width = size_of("maze_2d/hard")
    assert env.reset(3) == generate(3, height=height, width=width)


def _check_png(env: MazeEnv) -> str:
    """Hash of the frame's pixels, after a check that the PNG file holds the same."""
    frame = env.frame()
    assert np.array_equal(_decoded(env.png()), frame)
    return hashlib.sha256(frame.tobytes()).hexdigest()


def _decoded(png: bytes) -> Frame:
    with Image.open(io.BytesIO(png)) as image:
        assert image.mode == "RGB"
        return np.asarray(image)
