"""How fast the maze environment is on one core: `python -m tests.bench.bench_maze`.

Prints one JSON line per number and exits with 1 if one misses its limit.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time

from app.maze.env import MazeEnv
from app.maze.generate import generate
from app.maze.parse import KEYWORDS
from app.maze.solve import shortest_path

EPISODES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """`floor` is a least rate per CPU second."""

    name: str
    n: int
    seconds: float
    floor: float

    @property
    def rate(self) -> float:
        return self.n / self.seconds

    def line(self) -> str:
        rate = round(self.rate, 1)
        return json.dumps(
            {"name": self.name, "n": self.n, "per_cpu_second": rate, "floor": self.floor}
        )


def main() -> int:
    """Measures everything. The exit code says whether each floor was held."""
    results = [
        _timed("maze_2d/easy generated mazes", _generate, floor=2_500),
        _timed("maze_2d/easy steps, no picture", _steps(lambda env: None), floor=20_000),
        _timed("maze_2d/easy steps with PNG", _steps(lambda env: env.png()), floor=2_000),
        _timed("maze_2d/easy steps with RGB frame", _steps(lambda env: env.frame()), floor=2_000),
    ]
    for result in results:
        sys.stdout.write(result.line() + "\n")
    return int(any(result.rate < result.floor for result in results))


def _timed(name: str, work: Callable[[], int], *, floor: float) -> Measured:
    started = process_time()
    n = work()
    return Measured(name=name, n=n, seconds=process_time() - started, floor=floor)


def _generate() -> int:
    for seed in range(EPISODES * 5):
        generate(seed)
    return EPISODES * 5


def _steps(look: Callable[[MazeEnv], object]) -> Callable[[], int]:
    """Whole episodes, resets included, that walk to the target and stop there."""

    def play() -> int:
        steps = 0
        env = MazeEnv.of("maze_2d/easy")
        for seed, actions in scripts:
            env.reset(seed)
            look(env)
            for action in actions:
                step = env.step(action)
                look(env)
            steps += len(actions)
            assert step.reward == 1.0
        return steps

    scripts = [(seed, _script(seed)) for seed in range(EPISODES)]
    return play


def _script(seed: int) -> list[str]:
    moves = [f"('move', {direction})" for direction in shortest_path(generate(seed))]
    return [*moves, KEYWORDS["stop"]]


if __name__ == "__main__":
    sys.exit(main())
