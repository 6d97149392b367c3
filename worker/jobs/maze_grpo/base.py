"""Makes the base model by behaviour cloning: `python -m worker.jobs.maze_grpo.base`.

The shortest paths of fresh mazes are the demonstrations. Cloning stops once the running mean of
the weights solves 42 % of 512 other mazes, on average over two looks at it, since one look may be
luck: an under-trained model, not a crippled one, so that reinforcement has something to add.
Another processor or BLAS may give other bytes; the rule is about the solve rate.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from app.maze.eval_sets import EASY_SOLVABLE_15
from worker.jobs.maze_grpo import files, pixels
from worker.jobs.maze_grpo.answers import STOP
from worker.jobs.maze_grpo.evalsets import dev_mazes, mazes_of
from worker.jobs.maze_grpo.mazes import DEMO_SEED, Board, Stream, board, layouts, mazes_in
from worker.jobs.maze_grpo.model import SHAPES, Policy, random_weights
from worker.jobs.maze_grpo.optim import Adam, follow
from worker.jobs.maze_grpo.rollout import LogProbs, roll
from worker.jobs.maze_grpo.vectors import Floats, Ints, Pack, pack, pack_arrays

BASE_FILE = Path(__file__).parent / "base.safetensors"
"""The base that is shipped."""

_MAZES_A_STEP = 8
_LR, _EMA = 2e-3, 0.98
_GOAL, _EVERY, _MAX_STEPS = 0.42, 10, 4000


class NotLearned(RuntimeError):
    """The goal was not reached."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Steps done, solve rate on the dev mazes, and the weights' running mean, that solved them."""

    step: int
    rate: float
    mean: Pack


def clone(seed: int) -> Iterator[Progress]:
    """Trains a model; tells its progress every 10 steps.

    Ends when the goal is reached. Raises `NotLearned` if that takes too long.
    """
    demos = demonstration_mazes()
    weights = pack_arrays(SHAPES, random_weights(np.random.default_rng(seed)))
    mean = pack(SHAPES, weights.vector.copy())
    adam, before = Adam.zeros(len(weights.vector)), 0.0
    for step in range(1, _MAX_STEPS + 1):
        mazes = board(mazes_in(demos.take(_MAZES_A_STEP)))
        adam.update(weights.vector, _gradient(weights, mazes), lr=_LR)
        follow(mean.vector, weights.vector, decay=_EMA)
        if step % _EVERY == 0:
            rate = dev_solve_rate(mean)
            yield Progress(step, rate, mean)
            if (before + rate) / 2 >= _GOAL:
                return
            before = rate
    raise NotLearned(f"{_MAX_STEPS} steps did not reach {_GOAL} on the dev mazes")


def demonstration_mazes() -> Stream:
    """The mazes whose shortest paths are cloned, from the first on."""
    excluded = layouts(mazes_in(dev_mazes())) | layouts(mazes_of(EASY_SOLVABLE_15))
    return Stream(DEMO_SEED, excluded=excluded)


def dev_solve_rate(weights: Pack) -> float:
    """Share of the dev mazes solved with the likeliest answers in 15 turns."""
    mazes = board(mazes_in(dev_mazes()))
    log_probs = LogProbs(Policy(weights.views), mazes)
    return float(roll(log_probs, mazes, samples=1, turns=15, rng=None).rewards.mean())


def demonstrations(mazes: Board) -> tuple[Ints, Ints, Ints]:
    """Maze, state and best answer of each turn of the shortest paths, the stop included."""
    distances = mazes.distances()
    rows, cells = np.arange(len(mazes)), mazes.starts
    taken: list[tuple[Ints, Ints, Ints]] = []
    while len(rows):
        after = mazes.next_cells[rows, cells]
        moves = distances[rows[:, None], after].argmin(1)
        arrived = cells == mazes.targets[rows]
        taken.append((rows, cells, np.where(arrived, STOP, moves)))
        cells = np.take_along_axis(after, moves[:, None], 1)[:, 0][~arrived]
        rows = rows[~arrived]
    columns = zip(*taken, strict=True)
    maze, state, answer = (np.concatenate(column) for column in columns)
    return maze, state, answer


def main() -> int:
    """Writes the file; returns the exit code."""
    parser = argparse.ArgumentParser(prog="worker.jobs.maze_grpo.base", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the first weights")
    parser.add_argument("--output", type=Path, default=BASE_FILE)
    options = parser.parse_args()
    for progress in clone(options.seed):
        sys.stdout.write(f"step {progress.step}: solves {progress.rate:.3f} of the dev mazes\n")
        sys.stdout.flush()
    facts = {
        "format": "np",
        "cloning_seed": str(options.seed),
        "cloning_mazes": str(progress.step * _MAZES_A_STEP),
        "dev_solve_rate": f"{progress.rate:.4f}",
    }
    files.write(options.output, save(progress.mean.views, facts))
    sys.stdout.write(f"wrote {options.output}\n")
    return 0


def _gradient(weights: Pack, mazes: Board) -> Floats:
    """Of the mean cross-entropy of the demonstrations, as a flat vector."""
    maze, state, answer = demonstrations(mazes)
    policy = Policy(weights.views)
    trace = policy.forward(pixels.from_kinds(mazes.kinds(maze, state)))
    d_logits = np.exp(trace.log_probs)
    d_logits[np.arange(len(answer)), answer] -= 1
    d_logits /= np.float32(len(answer))
    return pack_arrays(SHAPES, policy.backward(trace, d_logits)).vector


if __name__ == "__main__":
    sys.exit(main())
