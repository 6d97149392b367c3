"""Failure table: what proves each class, and what must not."""

import pytest

from app.logs.parsers.diagnosis import MAX_LINE_CHARS, FailureClass, diagnose

PREFIX = b"\x1b[36m(task pid=7, ip=10.0.0.2)\x1b[0m "


@pytest.mark.parametrize(
    ("line", "failure_class"),
    [
        (b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", "out_of_memory"),
        (b"Training failed at step 3 with OutOfMemoryError:", "out_of_memory"),
        (b"MemoryError", "out_of_memory"),
        (b"Task was killed due to the node running low on memory.", "out_of_memory"),
        (b"OSError: [Errno 28] No space left on device: '/shared/x'", "disk_full"),
        (b"RuntimeError: Failed to create placement group with 8 bundles", "placement_timeout"),
        (b"ray.exceptions.ActorDiedError: The actor died unexpectedly", "node_lost"),
        (b"ValueError: Invalid fields {'sed'} for TrainerConfig.", "config_error"),
        (b'  File "/x/utils.py", line 323, in validate_cfg', "config_error"),
        (b"ModuleNotFoundError: No module named 'vllm'", "module_missing"),
        (b"RuntimeError: Engine core initialization failed.", "engine_start"),
    ],
)
def test_a_line_proves_its_class(line: bytes, failure_class: str) -> None:
    failure = diagnose(b"before\n" + PREFIX + line + b"\nafter\n", exit_code=1)

    assert failure.failure_class == failure_class
    assert line.decode().strip() in failure.evidence[0]


@pytest.mark.parametrize(
    ("exit_code", "message", "failure_class"),
    [
        (137, "", FailureClass.KILLED),
        (-9, "", FailureClass.KILLED),
        (None, "Job entrypoint command failed with exit code 137, last lines", FailureClass.KILLED),
        (2, "", FailureClass.CONFIG_ERROR),
        (143, "", FailureClass.TERMINATED),
        (-15, "", FailureClass.TERMINATED),
        (1, "", FailureClass.UNKNOWN),
        (None, "", FailureClass.UNKNOWN),
    ],
)
def test_exit_codes(exit_code: int | None, message: str, failure_class: FailureClass) -> None:
    failure = diagnose(b"step 1\nstep 2\n", exit_code=exit_code, message=message)

    assert failure.failure_class is failure_class
    assert failure.evidence == ("step 1", "step 2")


def test_a_cause_in_the_log_stands_above_the_exit_code() -> None:
    log = b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate\n"

    assert diagnose(log, exit_code=137).failure_class is FailureClass.OUT_OF_MEMORY


@pytest.mark.parametrize(
    "noise",
    [
        b"2026-11-29 16:51:18 ERROR asyncio: Unclosed client session",
        b"finish_session for session_id='13_0' returned HTTP 404",
        b"I ran out of memory and saw a ModuleNotFoundError in my dream",
    ],
)
def test_noise_of_healthy_runs_proves_nothing(noise: bytes) -> None:
    assert diagnose(noise, exit_code=1).failure_class is FailureClass.UNKNOWN


def test_unknown_shows_the_last_exception() -> None:
    failure = diagnose(b"ValueError: first\nx\nKeyError: 'last'\n", exit_code=1)

    assert failure.message.endswith("KeyError: 'last'")
    assert failure.evidence == ("ValueError: first", "KeyError: 'last'")


def test_a_message_is_cut_and_loses_its_colours() -> None:
    failure = diagnose(b"", message="\x1b[31mIt broke\x1b[0m " + "x" * 9_999 + "\nmore")

    assert failure.message.startswith("It broke x")
    assert len(failure.message) == MAX_LINE_CHARS
