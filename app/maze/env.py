"""`MazeEnv`: VisGym's `maze_2d` step by step, with its feedback, rewards and end of an episode.

Source: VisGym commit 0289034b, `gymnasium/envs/maze_2d/maze_2d.py`; recorded in
`tests/conformance/data/visgym/maze_2d_easy_scripts.json`.
"""

import string
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from app.maze.generate import Cell, Maze, check_size, generate_from, seeded, size_of
from app.maze.literal import MAX_CHARACTERS, read_literal
from app.maze.render import Canvas
from app.maze.sprites import Frame

DIRECTIONS: tuple[Cell, ...] = ((0, 1), (-1, 0), (0, -1), (1, 0))
"""Rows and columns that `('move', i)` goes: right, up, left, down."""

EXECUTED = "Action executed successfully."
BUMPED = "Cannot move into a wall."
MALFORMED = (
    "The action format is invalid. The action should be a tuple of two elements with the first "
    "element being the action name and the second element being the action payload."
)

_STOP_LENGTH = range(1, 5)
_STOP_LETTERS = frozenset(string.ascii_letters + string.digits)


class ResetNeeded(RuntimeError):
    """The environment was used before its first `reset()`."""


class Step(NamedTuple):
    """What one action did. `truncated` is never true: upstream has no step limit of its own."""

    reward: float
    terminated: bool
    truncated: bool
    feedback: str


class MazeEnv:
    """One maze with its agent and picture. Not safe to share between threads.

    `feedback` is that of the last step, empty after a reset.
    """

    def __init__(self, *, height: int = 9, width: int = 9, seed: int | None = None) -> None:
        """Sizes are odd, from 5 to 99, outer wall included. Raises `ValueError` otherwise."""
        check_size(height, width)
        self.height = height
        self.width = width
        self._rng = None if seed is None else seeded(seed)
        self._canvas: Canvas | None = None
        self.feedback = ""

    @classmethod
    def of(cls, env_id: str, *, seed: int | None = None) -> "MazeEnv":
        """The environment named `maze_2d/easy`, `maze_2d/hard` or `maze_2d/HEIGHTxWIDTH`."""
        height, width = size_of(env_id)
        return cls(height=height, width=width, seed=seed)

    @property
    def maze(self) -> Maze:
        return self._drawn().maze

    @property
    def agent(self) -> Cell:
        return self._drawn().agent

    @property
    def distance(self) -> float:
        """Rows plus columns between agent and target, walls ignored."""
        agent, target = self.agent, self.maze.target
        return float(abs(agent[0] - target[0]) + abs(agent[1] - target[1]))

    def reset(self, seed: int | None = None) -> Maze:
        """Starts an episode on a new maze.

        A seed gives the same maze always, on a used environment too. Without one the
        environment's own generator goes on; it starts from the system's entropy if never seeded.
        """
        if seed is not None:
            self._rng = seeded(seed)
        elif self._rng is None:
            self._rng = np.random.default_rng()
        maze = generate_from(self._rng, height=self.height, width=self.width)
        self._canvas = Canvas(maze)
        self.feedback = ""
        return maze

    def step(self, action: str) -> Step:
        """Carries out `('move', 0…3)` or `('stop', 'stop')`. Any other text only gives feedback.

        Only a valid stop ends the episode; it earns 1.0 on the target. Like upstream, the
        environment takes further steps after it.
        """
        canvas = self._drawn()
        name, payload, refusal = _decode(action)
        reward, terminated = 0.0, False
        if refusal is not None:
            self.feedback = refusal
        elif name == "stop":
            reward, terminated = float(canvas.agent == canvas.maze.target), True
            self.feedback = EXECUTED
        else:
            assert isinstance(payload, int)
            self.feedback = EXECUTED if _moved(canvas, payload) else BUMPED
        return Step(reward, terminated, False, self.feedback)

    def frame(self) -> Frame:
        """The picture as it is now: uint8 (height * 25, width * 25, 3), a copy."""
        return self._drawn().frame()

    def png(self) -> bytes:
        """The picture as it is now, as an RGB PNG file."""
        return self._drawn().png()

    def _drawn(self) -> Canvas:
        if self._canvas is None:
            raise ResetNeeded("call reset() before using the environment")
        return self._canvas


def _moved(canvas: Canvas, direction: int) -> bool:
    rows, columns = DIRECTIONS[direction]
    ahead = (canvas.agent[0] + rows, canvas.agent[1] + columns)
    if canvas.maze.is_wall(ahead):
        return False
    canvas.move_to(ahead)
    return True


@lru_cache(maxsize=256)
def _decode(action: str) -> tuple[object, object, str | None]:
    """Name, payload, and why nothing is to be done, or None if the action is valid."""
    try:
        parsed = read_literal(action)
    except ValueError as error:
        return None, None, _unreadable(action, error)
    if not isinstance(parsed, tuple) or len(parsed) != 2:
        return None, None, MALFORMED
    name, payload = parsed
    return name, payload, _refusal(name, payload)


def _refusal(name: object, payload: object) -> str | None:
    if name == "move":
        # A bool is an int here as it is upstream.
        valid = isinstance(payload, int) and payload in range(len(DIRECTIONS))
    elif name == "stop":
        valid = _is_stop_word(payload)
    else:
        return _clean(f"The action name '{name}' is not recognized in the available action space.")
    if valid:
        return None
    return _clean(
        f"The action {payload} is not in the valid action space of {name} so nothing is executed."
    )


def _is_stop_word(payload: object) -> bool:
    return (
        isinstance(payload, str)
        and len(payload) in _STOP_LENGTH
        and _STOP_LETTERS.issuperset(payload)
    )


def _unreadable(action: str, error: ValueError) -> str:
    quoted = repr(action if len(action) <= MAX_CHARACTERS else action[:MAX_CHARACTERS] + "…")
    return _clean(f"Cannot parse action string {quoted}: {error} so the action is invalid.")


def _clean(feedback: str) -> str:
    """Escapes lone surrogates, which a literal may hold and no encoder takes."""
    return feedback.encode("utf-8", "backslashreplace").decode()
