"""Start times, size on disk and memory: `python -m tests.bench.bench_product`.

Prints one JSON line per number, with its limit and their ratio; exits with 1 if one is missed.
"""

import json
import re
import sys
import time
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from app.settings import ROOT
from tests.bench.product import Product, running

IDLE_SECONDS = 20.0
_MB = 1e6


def main() -> int:
    """Measures everything once (n = 1). The exit code says whether each limit was held."""
    results = [_report("installed size of requirements/run.lock, MB", _installed() / _MB, 900)]
    with TemporaryDirectory(prefix="skydeck-bench-") as folder:
        home = Path(folder) / "home"
        with running(home) as product:
            # A fresh checkout has three minutes in all; the packages are installed already here.
            results.append(_report("first start until ready, s", product.ready_seconds, 180))
            started = time.monotonic()
            product.wait_for_cluster()
            waited = product.ready_seconds + time.monotonic() - started
            results.append(_report("first start until the cluster is ready, s", waited, 90))
            time.sleep(IDLE_SECONDS)
            results += _memory(product)
        with running(home) as product:
            results.append(_report("second start until ready, s", product.ready_seconds, 20))
    return int(not all(results))


def _memory(product: Product) -> list[bool]:
    own = product.own_processes()
    parts = {name: _pss(process) / _MB for name, process in own.items()}
    for name, used in parts.items():
        _report(f"{name}, PSS idle, MB", used, None)
    ray = sum(_pss(process) for process in product.ray_processes()) / _MB
    _report("embedded Ray head, PSS idle, MB", ray, None)
    return [
        _report("web, RSS idle, MB", own["web"].memory_info().rss / _MB, 150),
        _report("everything besides Ray, PSS idle, MB", sum(parts.values()), 450),
    ]


def _pss(process: psutil.Process) -> float:
    try:
        return float(process.memory_full_info().pss)
    except psutil.NoSuchProcess:
        return 0.0


def _report(name: str, value: float, limit: float | None) -> bool:
    line: dict[str, object] = {"name": name, "value": round(value, 1), "n": 1}
    if limit is not None:
        line |= {"limit": limit, "ratio": round(value / limit, 2)}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
    return limit is None or value <= limit


def _installed() -> int:
    """Bytes of all files of the packages in the lock that are installed on this platform."""
    return sum(map(_size, re.findall(r"^([a-z0-9._-]+)==", _lock(), re.MULTILINE)))


def _lock() -> str:
    return (ROOT / "requirements" / "run.lock").read_text()


def _size(name: str) -> int:
    try:
        files: Iterable[Path] = [Path(str(f.locate())) for f in distribution(name).files or []]
    except PackageNotFoundError:
        # Locked for another platform.
        return 0
    return sum(file.stat().st_size for file in files if file.is_file())


if __name__ == "__main__":
    sys.exit(main())
