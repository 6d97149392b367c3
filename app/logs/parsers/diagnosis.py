"""Says why a job failed, from the end of its log and how it ended.

A first form: a table, read from top to bottom; the first rule that fits wins. Specific causes
stand above the general ones that they bring about. A healthy SkyRL log holds the word ERROR and
many 404s, so rules match the form of an exception, not a word.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from app.logs.parsers.records import ANSI, text_of

MAX_TAIL_BYTES = 262_144
MAX_EVIDENCE_LINES = 5
MAX_LINE_CHARS = 500


class FailureClass(StrEnum):
    OUT_OF_MEMORY = "out_of_memory"
    DISK_FULL = "disk_full"
    PLACEMENT_TIMEOUT = "placement_timeout"
    NODE_LOST = "node_lost"
    CONFIG_ERROR = "config_error"
    MODULE_MISSING = "module_missing"
    ENGINE_START = "engine_start"
    KILLED = "killed"
    TERMINATED = "terminated"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Failure:
    """`evidence`: log lines that prove the class, in the log's order, without colours."""

    failure_class: FailureClass
    message: str
    evidence: tuple[str, ...]
    hint: str


@dataclass(frozen=True, slots=True)
class _Rule:
    failure_class: FailureClass
    message: str
    hint: str
    pattern: re.Pattern[str] | None = None
    exit_codes: tuple[int, ...] = ()


# An exception's last line may stand behind Ray's prefix.
_HEAD = r"^(?:\([^()]*\) )?(?:[\w.]+\.)?"
_RULES = (
    _Rule(
        FailureClass.OUT_OF_MEMORY,
        "The job ran out of memory.",
        "Lower micro batch sizes, samples per prompt or generator.inference_engine."
        "gpu_memory_utilization.",
        re.compile(
            rf"{_HEAD}(?:OutOfMemoryError|MemoryError)\b"
            r"|with OutOfMemoryError:$|CUDA out of memory\. Tried|CUDA error: out of memory"
            r"|due to the node running low on memory|Out of memory: Killed process"
        ),
    ),
    _Rule(
        FailureClass.DISK_FULL,
        "A disk is full.",
        "Free space under the checkpoint and export paths, or keep fewer checkpoints "
        "(trainer.max_ckpts_to_keep), then resume.",
        re.compile(r"\[Errno (?:27|28|122)\]|No space left on device|Disk quota exceeded"),
    ),
    _Rule(
        FailureClass.PLACEMENT_TIMEOUT,
        "The cluster could not give the GPUs that the job asked for in time.",
        "Compare the GPUs asked for with the free ones, or raise SKYRL_RAY_PG_TIMEOUT_IN_S.",
        re.compile(r"Failed to create placement group"),
    ),
    _Rule(
        FailureClass.NODE_LOST,
        "A machine or a worker process of the cluster was lost.",
        "Resume from the newest checkpoint.",
        re.compile(rf"{_HEAD}(?:NodeDiedError|ActorDiedError|WorkerCrashedError)\b"),
    ),
    _Rule(
        FailureClass.CONFIG_ERROR,
        "The configuration was refused.",
        "Correct the named key and launch again; nothing was trained.",
        re.compile(
            r"ValueError: Invalid fields |is not a valid \w+Mode\b|, in validate_cfg$"
            rf"|{_HEAD}ConfigurationError\b"
        ),
    ),
    _Rule(
        FailureClass.CONFIG_ERROR,
        "The batch sizes do not fit the number of GPUs.",
        "Make trainer.train_batch_size a multiple of L / gcd(L, samples per prompt), where L is "
        "the number of data-parallel ranks.",
        re.compile(r"in compute_prompt_mini_batch_boundaries$|zero-size array to reduction"),
    ),
    _Rule(
        FailureClass.MODULE_MISSING,
        "A Python module is missing on the cluster.",
        "Add it to the image or to the set-up commands.",
        re.compile(rf"{_HEAD}ModuleNotFoundError: "),
    ),
    _Rule(
        FailureClass.ENGINE_START,
        "An inference engine did not start.",
        "The cause is in the infra log of that machine (trainer.log_path), not in this log.",
        re.compile(r"Engine core initialization failed"),
    ),
    _Rule(
        FailureClass.CONFIG_ERROR,
        "The configuration was refused.",
        "Correct the named setting and launch again; nothing was trained.",
        # What programs end with whose command line is wrong, our trainer among them.
        exit_codes=(2,),
    ),
    _Rule(
        FailureClass.KILLED,
        "The job's process was killed (SIGKILL).",
        "Often the machine ran out of memory, or somebody killed it. Resume from the newest "
        "checkpoint.",
        exit_codes=(137, -9),
    ),
    _Rule(
        FailureClass.TERMINATED,
        "The job's process was asked to end (SIGTERM).",
        "It was stopped from outside. Resume from the newest checkpoint.",
        exit_codes=(143, -15),
    ),
)
_EXCEPTION = re.compile(rf"{_HEAD}\w*(?:Error|Exception|Interrupt)\b(?::|$)")


def diagnose(tail: bytes, *, exit_code: int | None = None, message: str = "") -> Failure:
    """The failure that the last bytes of a log tell.

    `exit_code`: the driver's, negative for a signal, or None where unknown. `message`: Ray's own
    account of the job's end, which may name the exit code and quote the log.
    """
    lines = _lines(tail)
    code = exit_code if exit_code is not None else _exit_code_in(message)
    for rule in _RULES:
        evidence = _matching(lines, rule.pattern) if rule.pattern else ()
        if evidence:
            return _failure(rule, lines, evidence)
        if code in rule.exit_codes:
            return _failure(rule, lines, ())
    return _unknown(lines, code=code, message=message)


def _lines(tail: bytes) -> list[str]:
    text = text_of(tail[-MAX_TAIL_BYTES:]).replace("\r", "\n")
    return [line.rstrip()[:MAX_LINE_CHARS] for line in text.split("\n") if line.strip()]


def _exit_code_in(message: str) -> int | None:
    match = re.search(r"exit code (-?\d{1,3})\b", message)
    return int(match[1]) if match else None


def _matching(lines: list[str], pattern: re.Pattern[str]) -> tuple[str, ...]:
    return tuple(line for line in lines if pattern.search(line))[-MAX_EVIDENCE_LINES:]


def _failure(rule: _Rule, lines: list[str], evidence: tuple[str, ...]) -> Failure:
    """The rule's failure; the exception that closes the log is added to its lines."""
    errors = _matching(lines, _EXCEPTION)[-1:]
    shown = evidence + tuple(error for error in errors if error not in evidence)
    return Failure(rule.failure_class, rule.message, shown or tuple(lines[-3:]), rule.hint)


def _unknown(lines: list[str], *, code: int | None, message: str) -> Failure:
    errors = _matching(lines, _EXCEPTION)
    if errors:
        summary = f"The job ended with an error: {errors[-1]}"
    elif code is not None:
        summary = f"The job ended with exit code {code}."
    else:
        summary = ANSI.sub("", message).strip().split("\n")[0][:MAX_LINE_CHARS] or "The job failed."
    hint = "Read the end of the log. If it says nothing, look at the infra log of the cluster."
    return Failure(FailureClass.UNKNOWN, summary, errors or tuple(lines[-3:]), hint)
