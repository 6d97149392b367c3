"""How well and how fast the embedded trainer learns: `python -m tests.bench.bench_trainer`.

Runs the defaults for seeds 0, 1 and 2, one after the other, and plays each result on 1,024 mazes
that had no part in anything. Prints one JSON line a seed and exits with 1 if one misses a limit.
Takes about two CPU minutes a seed.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from worker.jobs.maze_grpo.base import BASE_FILE
from worker.jobs.maze_grpo.heldout import compare

FIRST_RANGE = (0.30, 0.55)
FINAL_LEAST, BEST_LEAST = 0.93, 0.95
CPU_SECONDS_MOST = 150
HELD_OUT_MAZES, HELD_OUT_LEAST, BASE_MOST = 1024, 0.90, 0.55
_PASS = re.compile(r"'eval/all/pass_at_1': '([0-9.]+)'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """`pass_at_1` of the evaluations, CPU seconds of the process, solve rates on other mazes."""

    seed: int
    first: float
    final: float
    best: float
    cpu_seconds: float
    log_bytes: int
    held_out: dict[str, Any]

    def missed(self) -> list[str]:
        """Names of the numbers that miss their limits."""
        base, adapter = (self.held_out[name]["solve_rate"] for name in ("base", "adapter"))
        kept = {
            "first": FIRST_RANGE[0] <= self.first <= FIRST_RANGE[1],
            "final": self.final >= FINAL_LEAST,
            "best": self.best >= BEST_LEAST,
            "cpu_seconds": self.cpu_seconds <= CPU_SECONDS_MOST,
            "held_out adapter": adapter >= HELD_OUT_LEAST,
            "held_out base": base <= BASE_MOST,
        }
        return [name for name, is_kept in kept.items() if not is_kept]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    missed = 0
    for seed in parser.parse_args().seeds:
        with TemporaryDirectory() as folder:
            measured = measure(seed, Path(folder))
        sys.stdout.write(json.dumps({**asdict(measured), "missed": measured.missed()}) + "\n")
        sys.stdout.flush()
        missed += len(measured.missed())
    return 1 if missed else 0


def measure(seed: int, folder: Path) -> Measured:
    """Trains with the defaults in a process of its own. Raises if that fails."""
    before = _children_cpu_seconds()
    arguments = [f"trainer.seed={seed}", f"trainer.ckpt_path={folder}/ckpts"]
    log = subprocess.run(
        [
            *(sys.executable, "-m", "worker.jobs.maze_grpo"),
            *arguments,
            f"trainer.export_path={folder}/exports",
        ],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    spent = _children_cpu_seconds() - before
    passes = [float(value) for value in _PASS.findall(log.decode())]
    exports = sorted(folder.glob("exports/global_step_*"), key=lambda path: int(path.name[12:]))
    return Measured(
        seed=seed,
        first=passes[0],
        final=passes[-1],
        best=max(passes),
        cpu_seconds=round(spent, 1),
        log_bytes=len(log),
        held_out=compare(exports[-1] / "policy", base=BASE_FILE, count=HELD_OUT_MAZES),
    )


def _children_cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
