"""Rebuilds the pictures of an episode, so that none has to be stored."""

from collections.abc import Iterable, Iterator

from app.maze.env import MazeEnv


def replay(env_id: str, seed: int, *, actions: Iterable[str | None]) -> Iterator[MazeEnv]:
    """The environment at the start and after each action; None leaves it as it is.

    It is one environment all along: take `frame()`, `png()` or `agent` before going on.
    Raises `ValueError` for an unknown environment or a bad seed.
    """
    env = MazeEnv.of(env_id)
    env.reset(seed)
    return _steps(env, actions)


def _steps(env: MazeEnv, actions: Iterable[str | None]) -> Iterator[MazeEnv]:
    yield env
    for action in actions:
        if action is not None:
            env.step(action)
        yield env
