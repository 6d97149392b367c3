"""Skydeck beside its peers: `python -m tests.bench peers`, or with arguments for one phase.

    SKYDECK_SHARED=DIR python -m tests.bench.bench_peers trackio=VENV mlflow=VENV
    … -- read --case many --rounds 2 --repeats 5

`DIR/bench/peers` is the benchmark; peers are given by name and environment. It is copied, and our
adapter put beside the others. Without `SKYDECK_SHARED` there is nothing to run, which is said.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir

from app.settings import ROOT

HERE = Path(__file__).parent
PHASES = (
    ("ingest", "--case", "quarter:batch,short:normal", "--rounds", "3"),
    ("load", "--case", "many,wide,large"),
    ("read", "--case", "many,wide,large", "--rounds", "2", "--repeats", "5"),
    ("server", "--case", "empty", "--rounds", "3"),
)


def main(words: list[str]) -> int:
    """The exit code of the first phase that fails; 0 where there is no benchmark to run."""
    shared = os.environ.get("SKYDECK_SHARED", "")
    source = Path(shared) / "bench" / "peers"
    if not shared or not source.is_dir():
        sys.stdout.write("# peers: not run; SKYDECK_SHARED names no folder with bench/peers\n")
        return 0
    tools, _, phase = " ".join(words).partition("-- ")
    work = Path(gettempdir()) / f"skydeck-peers-{os.getuid()}"
    bench = _copy(source, work / "bench")
    names = [f"skydeck={ROOT / '.venv'}", *tools.split()]
    out = work / "results.jsonl"
    for arguments in [tuple(phase.split())] if phase else PHASES:
        code = _run(bench, arguments, names, work, out)
        if code:
            return code
    return subprocess.run([sys.executable, bench / "report.py", out]).returncode


def _copy(source: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    for folder in (target, target / "adapters"):
        folder.chmod(0o755)
    shutil.copyfile(HERE / "peers/skydeck_adapter.py", target / "adapters/skydeck_adapter.py")
    return target


def _run(bench: Path, arguments: tuple[str, ...], tools: list[str], work: Path, out: Path) -> int:
    program, data = str(bench / "bench.py"), str(work / "data")
    command = [sys.executable, program, *arguments, "--work", data]
    for tool in tools:
        command += ["--tool", tool]
    environ = os.environ | {"BENCH_SKYDECK_ROOT": str(ROOT)}
    return subprocess.run([*command, "--out", str(out)], env=environ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
