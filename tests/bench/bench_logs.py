"""How fast a job's log is read with metric patterns: `python -m tests.bench.bench_logs`.

Prints one JSON line per number, in MiB of log per second of CPU time, with the least that is
wanted; exits with 1 if one is missed. A hostile pattern is measured by the CPU time that it takes
from a worker before it is turned off.
"""

import json
import random
import sys
from collections.abc import Callable, Sequence
from time import thread_time

from app.logs.parsers.pattern_reader import MAX_SECONDS
from app.logs.parsers.skyrl import SkyRLConsoleParser

PIECE = 2**20
PIECES = 8
TEN = [r"global_step (?P<step>\d+)", *(rf"\bmetric_{n}[=:] ?(?P<m{n}>\S+)" for n in range(9))]
PAIRS = [r"(?P<key>[\w/@.-]+)=(?P<value>\S+)"]
# Matches each digit, and looks for something else up to the line's end each time.
HOSTILE = [r"(?:\d*?1.{120}\d.{120}b|(?P<loss>\d))"]
_WORDS = ("loading", "weights", "shard", "layer", "tokens", "batch", "worker", "INFO", "done", "in")
_RANDOM = random.Random(7)


def main() -> int:
    """Measures everything. The exit code says whether each limit was held."""
    held = [
        _report("no line matches, no pattern, MiB/s", _speed(_noise, ()), least=10),
        _report("no line matches, 10 patterns, MiB/s", _speed(_noise, TEN), least=4),
        _report("one line in 20 matches 10 patterns, MiB/s", _speed(_mixed, TEN), least=2),
        _report("10 numbers a line by key and value, MiB/s", _speed(_numbers, PAIRS), least=0.4),
    ]
    seconds = _hostile()
    held.append(seconds < MAX_SECONDS + 1)
    _say(what="hostile pattern turned off, s", value=seconds, most=MAX_SECONDS + 1)
    return int(not all(held))


def _noise(at: int) -> str:
    words = " ".join(_RANDOM.choices(_WORDS, k=12))
    return f"2026-11-29 12:00:01 | INFO | {words} {at / 7:.3f}\n"


def _mixed(at: int) -> str:
    if at % 20:
        return _noise(at)
    metrics = " ".join(f"metric_{n}={at / (n + 1):.4f}" for n in range(9))
    return f"global_step {at} {metrics}\n"


def _numbers(at: int) -> str:
    metrics = " ".join(f"group_{n % 3}/metric_{n}={at / (n + 1):.4f}" for n in range(9))
    return f"step={at} {metrics}\n"


def _speed(line: Callable[[int], str], patterns: Sequence[str]) -> float:
    data = "".join(line(at) for at in range(PIECES * PIECE // 60)).encode()[: PIECES * PIECE]
    parser = SkyRLConsoleParser(patterns=patterns)
    began = thread_time()
    for start in range(0, len(data), PIECE):
        assert not parser.feed(data[start : start + PIECE]).troubles
    return len(data) / 2**20 / (thread_time() - began)


def _hostile() -> float:
    line = "".join(_RANDOM.choices("12", k=8_000)) + "\n"
    parser = SkyRLConsoleParser(patterns=HOSTILE)
    began = thread_time()
    outcome = parser.feed((line * (PIECE // len(line))).encode())
    assert outcome.troubles
    return thread_time() - began


def _report(what: str, value: float, *, least: float) -> bool:
    _say(what=what, value=value, least=least)
    return value >= least


def _say(**fields: object) -> None:
    shown = {key: round(v, 2) if isinstance(v, float) else v for key, v in fields.items()}
    sys.stdout.write(json.dumps(shown) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
