"""Skydeck beside its peers: `python -m tests.bench peers`, or with arguments for some phases.

    SKYDECK_SHARED=DIR python -m tests.bench.bench_peers trackio=VENV mlflow=VENV
    … -- load --case many -- read --case many --rounds 2 --repeats 5

`DIR/bench/peers` is the benchmark; peers are given by name and environment, or by `PEERS` in the
environment, and `tests/bench/peers/install.sh` makes those. It is copied, and our adapter put
beside the others. Without `SKYDECK_SHARED` there is nothing to run, which is said.

Every call measures anew and reports on itself alone: figures of different days are not one table.
`WORK=DIR` is where stores lie; two calls at once need two.
"""

import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import psutil

from app import __version__
from app.clock import utcnow
from app.settings import ROOT
from tests.bench.peers import goals

HERE = Path(__file__).parent
OURS = goals.OURS
# The last of them need no peer: none of them can be filled with so many runs.
ALONE = ("load --case crowd", "read --case crowd --rounds 2 --repeats 20")
PHASES = (
    "ingest --case quarter:batch,short:normal --rounds 3",
    "writers --writers 4 --case short",
    "load --case many,wide,large",
    "read --case many,wide,large --rounds 2 --repeats 20 --op-limit 30",
    "server --case empty --rounds 3",
    *ALONE,
)
_PROGRAMS = {"writers": "parallel_writers.py"}
_CROWD = 'CASES["crowd"] = Case("crowd", 100_000, 1, 5)\n'


def main(words: Sequence[str]) -> int:
    """1 where a goal is missed or a phase failed; 0 where there is no benchmark to run."""
    shared = os.environ.get("SKYDECK_SHARED", "")
    source = Path(shared) / "bench" / "peers"
    if not shared or not source.is_dir():
        _say("# peers: not run; SKYDECK_SHARED names no folder with bench/peers")
        return 0
    peers, *given = _parts(words)
    peers = peers or shlex.split(os.environ.get("PEERS", ""))
    if not peers:
        _say("# no peers given: only our own figures; PEERS='trackio=VENV mlflow=VENV' adds them")
    work = Path(os.environ.get("WORK") or Path(gettempdir()) / f"skydeck-peers-{ROOT.name}")
    run = _Run(source, work, peers)
    phases = given or [shlex.split(phase) for phase in PHASES]
    codes = [run.phase(phase) for phase in phases]
    missed = run.report(words)
    return int(bool(missed) or any(codes))


class _Run:
    """One call of the benchmark: where it works, and what it found."""

    def __init__(self, source: Path, work: Path, peers: Sequence[str]) -> None:
        self._work = work
        self._bench = _copy(source, work / "bench")
        self._tools = [f"{OURS}={ROOT / '.venv'}", *peers]
        self._out = work / f"results-{utcnow():%Y%m%dT%H%M%S}.jsonl"

    def phase(self, arguments: Sequence[str]) -> int:
        """Runs it for all tools. Returns its exit code."""
        name, *rest = arguments
        own = [str(self._bench / _PROGRAMS[name])] if name in _PROGRAMS else [self._main, name]
        tools = self._tools[:1] if " ".join(arguments) in ALONE else self._tools
        waits = self._work / "waits"
        shutil.rmtree(waits, ignore_errors=True)
        environ = os.environ | {"BENCH_SKYDECK_ROOT": str(ROOT)}
        if name == "writers":
            waits.mkdir(parents=True)
            environ["BENCH_WAITS"] = str(waits)
        command = [sys.executable, *own, *rest, "--work", str(self._work / "data")]
        for tool in tools:
            command += ["--tool", tool]
        code = subprocess.run([*command, "--out", str(self._out)], env=environ).returncode
        if name == "writers":
            self._note_waits(waits)
        return code

    def report(self, words: Sequence[str]) -> list[str]:
        """Prints all figures and those of the goals. Returns the goals that were missed."""
        if not self._out.exists():
            return ["everything: nothing was measured"]
        subprocess.run([sys.executable, self._bench / "report.py", self._out])
        rows = [json.loads(line) for line in self._out.read_text().splitlines()]
        lines, missed = goals.table(rows)
        text = "\n".join(
            [
                "\n### Goals\n",
                *_setting(self._tools, words),
                "",
                *lines,
                "",
                *goals.failures(rows),
            ]
        )
        _say(text)
        self._out.with_suffix(".md").write_text(text)
        _say(f"# raw figures: {self._out}")
        return missed

    @property
    def _main(self) -> str:
        return str(self._bench / "bench.py")

    def _note_waits(self, folder: Path) -> None:
        """What our writers put down of their own requests: see `peers/skydeck_adapter.py`."""
        found: list[dict[str, Any]] = [json.loads(file.read_text()) for file in folder.iterdir()]
        if not found:
            return
        row = {
            "phase": "waits",
            "tool": OURS,
            "requests": sum(each["requests"] for each in found),
            "longest_s": round(max(each["longest_s"] for each in found), 3),
        }
        with self._out.open("a") as file:
            file.write(json.dumps(row) + "\n")


def _parts(words: Sequence[str]) -> Iterator[list[str]]:
    """Words between `--`: first the tools, then a phase each."""
    groups = [list(group) for is_mark, group in groupby(words, "--".__eq__) if not is_mark]
    yield groups.pop(0) if words and words[0] != "--" else []
    yield from groups


def _copy(source: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    for folder in (target, target / "adapters"):
        folder.chmod(0o755)
    shutil.copyfile(HERE / "peers/skydeck_adapter.py", target / "adapters/skydeck_adapter.py")
    with (target / "workload.py").open("a") as file:
        file.write(f"\n{_CROWD}")
    return target


def _setting(tools: Sequence[str], words: Sequence[str]) -> list[str]:
    """When, where and of what these figures are, and how to get them again."""
    versions = [f"{OURS} {__version__} at {_commit()}"]
    versions += [_version(*tool.split("=", 1)) for tool in tools[1:]]
    memory = psutil.virtual_memory().total / 2**30
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return [
        f"- {utcnow():%Y-%m-%d %H:%M} UTC, {psutil.cpu_count()} cores ({_processor()}), "
        f"{memory:.0f} GiB, Python {platform.python_version()}, load {load}",
        f"- {'; '.join(versions)}",
        f"- `SKYDECK_SHARED=… python -m tests.bench.bench_peers {shlex.join(words)}`",
        "- CPU of client and server together where they write, of the server where they read",
    ]


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() or "no commit"


def _version(name: str, venv: str) -> str:
    code = f"from importlib.metadata import version; print(version({name!r}))"
    command = [str(Path(venv) / "bin" / "python"), "-c", code]
    done = subprocess.run(command, capture_output=True, text=True)
    return f"{name} {done.stdout.strip() or 'of unknown version'}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
