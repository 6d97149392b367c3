"""What a piece of a job's log says, with what was remembered from the pieces before it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from app.checkpoints.service import SavedLine
from app.logs.parsers.blocks import MetricBlock
from app.logs.parsers.events import LogEvent, LogEventKind
from app.logs.parsers.skyrl import ParseOutcome, SkyRLConsoleParser
from app.metrics.service import SOLVE_RATE, MetricPoint
from app.models import CheckpointKind, Run
from worker.reconcilers.dumps import Evaluation, read_evaluation

_STEP_SECONDS = "timing/step"
_STEP_PHASE = "step"
# Enough for a median that forgets a slow start, few enough to store with each turn.
_STEPS_REMEMBERED = 21
_PHASES_REMEMBERED = 10
_PHASE_LENGTH = 100


@dataclass(slots=True)
class Progress:
    """How far a run has come, over all of its log so far.

    `phases`: those begun and not finished, the innermost last. `step_seconds`: durations of the
    last training steps. `done_steps`: those whose phase has ended, which is before their numbers
    are printed.
    """

    step: int | None = None
    total_steps: int | None = None
    phases: list[str] = field(default_factory=list)
    step_seconds: list[float] = field(default_factory=list)
    done_steps: int = 0

    @property
    def trained_step(self) -> int:
        """The step whose weights the trainer has at this line of its log."""
        return self.done_steps + (_STEP_PHASE in self.phases)

    def put(self, run: Run, *, now: datetime) -> None:
        """Writes it to the run."""
        if self.step != run.step:
            run.progress_at = now
        run.step = self.step
        run.total_steps = self.total_steps
        run.phase = self.phases[-1] if self.phases else None
        run.seconds_per_step = median(self.step_seconds) if self.step_seconds else None

    def note_block(self, block: MetricBlock) -> None:
        # Keys are counted each by itself: the one that was found most often says how far it is.
        self.step = max(self.step or 0, block.step) if block.is_counted else block.step
        seconds = float(block.values.get(_STEP_SECONDS, math.nan))
        if math.isfinite(seconds):
            self.step_seconds.append(seconds)
            del self.step_seconds[:-_STEPS_REMEMBERED]

    def note_event(self, event: LogEvent) -> None:
        if event.kind is LogEventKind.TOTAL_STEPS:
            self.total_steps = event.step
        elif event.kind is LogEventKind.RESUMED:
            self.step = event.step
            self.done_steps = event.step or 0
        elif event.kind is LogEventKind.CHECKPOINT_SAVED:
            self.done_steps = (event.step or 0) - (_STEP_PHASE in self.phases)
        elif event.kind is LogEventKind.PHASE_STARTED:
            self.phases.append(event.name[:_PHASE_LENGTH])
            del self.phases[:-_PHASES_REMEMBERED]
        elif event.kind is LogEventKind.PHASE_FINISHED and event.name in self.phases:
            del self.phases[self.phases.index(event.name) :]
            self.done_steps += event.name == _STEP_PHASE


@dataclass(frozen=True, slots=True)
class Reading:
    """The bytes that were read, and all that they say.

    `troubles`: sentences about what the run's metric patterns do not read.
    """

    data: bytes
    blocks: list[MetricBlock]
    evaluations: list[Evaluation]
    progress: Progress
    state: dict[str, Any]
    troubles: list[str]
    saved: list[SavedLine] = field(default_factory=list)

    def points(self, *, now: datetime) -> Iterator[MetricPoint]:
        """All metric points; those whose line tells no time have the time `now`."""
        for block in self.blocks:
            time = (block.time or now).timestamp()
            for key, value in block.values.items():
                yield MetricPoint(key, block.step, float(value), time)
        for evaluation in self.evaluations:
            time = now.timestamp() if evaluation.time is None else evaluation.time
            yield MetricPoint(SOLVE_RATE, evaluation.step, evaluation.solve_rate, time)


class Follower:
    """Reads a log piece by piece; `state()` between two pieces is all that must be kept."""

    def __init__(
        self,
        folder: Path,
        state: dict[str, Any] | None = None,
        *,
        patterns: Sequence[str] = (),
        exports: str = "",
    ) -> None:
        """`folder`: the run's. `state`: what the last reading ended with; None for a new log.

        `patterns`: those of the run's config, which never change. `exports`: where it exports
        adapters to, which no line of its log says.
        """
        self._folder = folder
        self._exports = exports
        kept = state["parser"] if state else None
        self._parser = SkyRLConsoleParser.from_state(kept, patterns=patterns)
        self._progress = Progress(**state["progress"]) if state else Progress()

    def feed(self, data: bytes) -> Reading:
        """What the next bytes say. Reads evaluation dumps: a blocking call."""
        return self._reading(data, self._parser.feed(data))

    def finish(self) -> Reading:
        """What the unfinished last line says, once the log has ended."""
        return self._reading(b"", self._parser.finish())

    def _reading(self, data: bytes, outcome: ParseOutcome) -> Reading:
        for block in outcome.blocks:
            self._progress.note_block(block)
        saved = []
        for event in outcome.events:
            self._progress.note_event(event)
            saved += self._saved(event)
        return Reading(
            data=data,
            blocks=outcome.blocks,
            evaluations=list(self._evaluations(outcome.events)),
            progress=self._progress,
            state={"parser": self._parser.state(), "progress": asdict(self._progress)},
            troubles=outcome.troubles,
            saved=saved,
        )

    def _saved(self, event: LogEvent) -> list[SavedLine]:
        if event.kind is LogEventKind.CHECKPOINT_SAVED and event.step is not None:
            return [SavedLine(CheckpointKind.STATE, event.step, event.path)]
        if event.kind is LogEventKind.EXPORT_SAVED and self._exports:
            step = self._progress.trained_step
            path = f"{self._exports}/global_step_{step}/policy"
            return [SavedLine(CheckpointKind.ADAPTER, step, path)]
        return []

    def _evaluations(self, events: list[LogEvent]) -> Iterator[Evaluation]:
        for event in events:
            if event.kind is not LogEventKind.EVALUATION_DUMPED or event.step is None:
                continue
            time = event.time.timestamp() if event.time else None
            found = read_evaluation(event.path, step=event.step, folder=self._folder, time=time)
            if found is not None:
                yield found
