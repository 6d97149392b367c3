"""`make bench`: every number that the project promises, measured in one run on this machine.

Each benchmark prints JSON lines and exits with 1 if a limit is missed. `python -m tests.bench
maze sign-in` runs some of them; `trainer` takes several minutes.
"""

import platform
import subprocess
import sys

import psutil

BENCHMARKS = (
    "maze",
    "recipes",
    "logs",
    "charts",
    "product",
    "episodes",
    "evaluations",
    "sign-in",
    "trainer",
    "peers",
)


def main(names: list[str]) -> int:
    """Runs the named benchmarks one after the other, so that none disturbs another."""
    memory = psutil.virtual_memory().total / 2**30
    sys.stdout.write(
        f"# {platform.machine()}, {psutil.cpu_count()} cores, {memory:.0f} GiB, "
        f"Python {platform.python_version()}\n"
    )
    sys.stdout.flush()
    failed = [name for name in names or BENCHMARKS if _run(name) != 0]
    if failed:
        sys.stdout.write(f"# missed a limit: {', '.join(failed)}\n")
    return int(bool(failed))


def _run(name: str) -> int:
    module = f"tests.bench.bench_{name.replace('-', '_')}"
    return subprocess.run([sys.executable, "-m", module]).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
