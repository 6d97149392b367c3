"""What a SkyRL trainer's log tells besides metrics: checkpoints, dumps, phases, the end."""

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum

from app.logs.parsers.eval_dump import dump_step
from app.logs.parsers.records import Record, parse_time


class LogEventKind(StrEnum):
    TOTAL_STEPS = "total_steps"
    RESUMED = "resumed"
    INFRA_LOG = "infra_log"
    PHASE_STARTED = "phase_started"
    PHASE_FINISHED = "phase_finished"
    CHECKPOINT_SAVED = "checkpoint_saved"
    EXPORT_SAVED = "export_saved"
    EVALUATION_DUMPED = "evaluation_dumped"
    EVALUATION_AGGREGATED = "evaluation_aggregated"
    STOPPED_EARLY = "stopped_early"
    TRAINING_DONE = "training_done"
    TRAINING_FAILED = "training_failed"


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One event; fields that its kind does not have are None or empty.

    `step`: the step it is about (`total_steps`: how many). `name`: phase, data source or error
    class. `path`: the checkpoint's folder or the dump's file. `seconds`: how long a phase took.
    """

    kind: LogEventKind
    time: datetime | None = None
    step: int | None = None
    name: str = ""
    path: str = ""
    seconds: float | None = None


_STEP = r"(?P<step>\d{1,18})"
_MESSAGES: tuple[tuple[LogEventKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (LogEventKind.PHASE_STARTED, r"Started: '(?P<name>[^']{1,200})'"),
        (
            LogEventKind.PHASE_FINISHED,
            r"Finished: '(?P<name>[^']{1,200})', time cost: (?P<seconds>\d{1,9}\.\d+)s",
        ),
        (LogEventKind.TOTAL_STEPS, rf"Total steps: {_STEP}"),
        (LogEventKind.RESUMED, rf"Resuming from global_step: {_STEP}"),
        (LogEventKind.INFRA_LOG, r"Infrastructure logs will be written to: (?P<path>.+)"),
        (
            LogEventKind.CHECKPOINT_SAVED,
            rf"Successfully saved checkpoint for global_step_{_STEP} to: (?P<path>.+)",
        ),
        (LogEventKind.EXPORT_SAVED, r"Successfully saved model weights\."),
        (LogEventKind.EVALUATION_DUMPED, r"Dumped eval data for (?P<name>.+?) to (?P<path>.+)"),
        (LogEventKind.EVALUATION_AGGREGATED, r"Dumped aggregated eval metrics to (?P<path>.+)"),
        (LogEventKind.STOPPED_EARLY, rf"Reached max_training_steps={_STEP}, stopping early\."),
        (LogEventKind.TRAINING_DONE, r"Training done!"),
        (LogEventKind.TRAINING_FAILED, rf"Training failed at step {_STEP} with (?P<name>[\w.]+):"),
        (LogEventKind.TRAINING_FAILED, r"Setup failed before tracker was initialized:"),
    )
)


def event_of(record: Record, *, zone: tzinfo) -> LogEvent | None:
    """The event that a record tells, if it is one of those that matter."""
    message = record.message.rstrip()
    for kind, pattern in _MESSAGES:
        if match := pattern.fullmatch(message):
            return _event(kind, record, groups=match.groupdict(), zone=zone)
    return None


def _event(kind: LogEventKind, record: Record, *, groups: dict[str, str], zone: tzinfo) -> LogEvent:
    path = groups.get("path", "")
    step = int(groups["step"]) if "step" in groups else dump_step(path)
    return LogEvent(
        kind=kind,
        time=parse_time(record.time, zone),
        step=step,
        name=groups.get("name", ""),
        path=path,
        seconds=float(groups["seconds"]) if "seconds" in groups else None,
    )
