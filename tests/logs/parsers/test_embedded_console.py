"""The embedded trainer's log is read by the parser of SkyRL's."""

import io
from datetime import UTC, datetime

from app.logs.parsers.events import LogEvent, LogEventKind
from app.logs.parsers.skyrl import SkyRLConsoleParser
from worker.jobs.maze_grpo.console import Console

AT = datetime(2026, 11, 29, 16, 12, 27, 447_000, tzinfo=UTC)


def test_blocks_and_phases_of_the_embedded_trainer() -> None:
    stream = io.StringIO()
    console = Console(stream, now=lambda: AT, seconds=lambda: 5.0)
    with console.timer("generate", {}):
        console.metrics(3, {f"policy/a_rather_long_name_{i}": 0.25 for i in range(9)})
    console.metrics(4, {"a": 1})
    outcome = SkyRLConsoleParser().feed(stream.getvalue().encode())

    assert [(block.step, block.time, len(block.values)) for block in outcome.blocks] == [
        (3, AT, 9),
        (4, AT, 1),
    ]
    assert outcome.events == [
        LogEvent(LogEventKind.PHASE_STARTED, AT, name="generate"),
        LogEvent(LogEventKind.PHASE_FINISHED, AT, name="generate", seconds=0.0),
    ]
