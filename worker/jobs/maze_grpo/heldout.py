"""Solve rates on mazes that played no part: `python -m worker.jobs.maze_grpo.heldout`.

Left out, by layout, are the mazes of the evaluation sets, those that chose the base, its
demonstrations, and all training mazes of the adapter's run, which its metadata names.
"""

import argparse
import json
import math
import sys
from functools import cache
from pathlib import Path

from app.maze.eval_sets import EVAL_SETS
from app.maze.generate import generate
from worker.jobs.maze_grpo.base import BASE_FILE, demonstration_mazes
from worker.jobs.maze_grpo.evalsets import dev_mazes, mazes_of
from worker.jobs.maze_grpo.export import BadAdapter, read_adapter, read_base
from worker.jobs.maze_grpo.mazes import HELD_OUT_SEED, Board, Stream, board, layouts, mazes_in
from worker.jobs.maze_grpo.model import Policy
from worker.jobs.maze_grpo.rollout import LogProbs, roll
from worker.jobs.maze_grpo.vectors import Arrays

TURNS = 15
_Z = 1.959964  # 95 %


def main(arguments: list[str]) -> int:
    """Prints one JSON line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="worker.jobs.maze_grpo.heldout", description=__doc__)
    parser.add_argument("--adapter", type=Path, required=True, help="folder of a LoRA export")
    parser.add_argument("--base", type=Path, default=BASE_FILE, help="file of the base model")
    parser.add_argument("--n", type=int, default=1024, help="number of mazes")
    options = parser.parse_args(arguments)
    if options.n < 1:
        parser.error("--n must be at least 1")
    try:
        result = compare(options.adapter, base=options.base, count=options.n)
    except (BadAdapter, OSError, ValueError) as error:
        sys.stderr.write(f"heldout: {error}\n")
        return 1
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


def compare(adapter: Path, *, base: Path, count: int) -> dict[str, object]:
    """Solve rates of base and adapter, each with its 95 % Wilson interval.

    Raises `BadAdapter`, `OSError`, and `ValueError` if `base` is no base model.
    """
    weights, base_facts = read_base(base)
    lora, tensors, facts = read_adapter(adapter)
    excluded = _seen(base_facts, facts)
    mazes = board(mazes_in(Stream(HELD_OUT_SEED, excluded=excluded).take(count)))
    return {
        "n": count,
        "turns": TURNS,
        "excluded_layouts": len(excluded),
        "base": _rate(weights, mazes),
        "adapter": _rate(lora.merge(weights, tensors), mazes),
    }


def wilson(solved: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson, 1927)."""
    share, spread = solved / count, _Z * _Z / count
    centre = (share + spread / 2) / (1 + spread)
    half = _Z * math.sqrt((share * (1 - share) + spread / 4) / count) / (1 + spread)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def _seen(base_facts: dict[str, str], facts: dict[str, str]) -> frozenset[bytes]:
    """Layouts that had a part in the base, in any choice, or in the adapter's training."""
    try:
        trained = range(int(facts["train_first_seed"]), int(facts["train_next_seed"]))
        cloned = int(base_facts["cloning_mazes"])
    except KeyError as missing:
        raise BadAdapter(f"the metadata lacks {missing}: what was trained on is unknown") from None
    evaluated = (maze for chosen in EVAL_SETS.values() for maze in mazes_of(chosen))
    return (
        layouts(evaluated)
        | layouts(mazes_in(dev_mazes()))
        | _demonstrated(cloned)
        | layouts(map(generate, trained))
    )


@cache
def _demonstrated(count: int) -> frozenset[bytes]:
    return layouts(mazes_in(demonstration_mazes().take(count)))


def _rate(weights: Arrays, mazes: Board) -> dict[str, object]:
    log_probs = LogProbs(Policy(weights), mazes)
    episodes = roll(log_probs, mazes, samples=1, turns=TURNS, rng=None)
    solved = int(episodes.rewards.sum())
    low, high = wilson(solved, len(mazes))
    return {
        "solved": solved,
        "solve_rate": round(solved / len(mazes), 4),
        "wilson_95": [round(low, 4), round(high, 4)],
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
