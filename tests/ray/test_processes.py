"""Real small processes stand for a head's; what is not ours must stay."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from app.ray.head_launch import plan
from app.ray.head_state import HeadState
from app.ray.processes import (
    MARKER,
    RUN_VARIABLE,
    await_marked,
    end_all,
    end_runs,
    find_leader,
    is_alive,
    member_of_pid,
    processes_of,
)

# Starts a child that is in a session of its own and has no marker, and says when both are up.
PARENT = (
    "import subprocess, sys, time;"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(100)'],"
    " env={}, start_new_session=len(sys.argv) > 1);"
    "print(child.pid, flush=True); time.sleep(100)"
)
Spawn = Callable[..., tuple[psutil.Process, psutil.Process]]


@pytest.fixture
def state(home: Path) -> HeadState:
    return plan(home)


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Starts a process and its child; both are ended after the test."""
    with ExitStack() as started:

        def start(marker: str, *words: str) -> tuple[psutil.Process, psutil.Process]:
            process = subprocess.Popen(
                [sys.executable, "-c", PARENT, *words],
                env={MARKER: marker},
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            started.enter_context(process)
            started.callback(process.kill)
            assert process.stdout is not None
            child = psutil.Process(int(process.stdout.readline()))
            started.callback(_kill, child)
            return psutil.Process(process.pid), child

        yield start


def test_the_tree_of_the_leader_is_ended_and_nothing_else(state: HeadState, spawn: Spawn) -> None:
    leader, child = spawn(state.marker, "apart")
    others = spawn("another marker")
    state = replace(state, leader=member_of_pid(leader.pid))
    assert set(processes_of(state)) == {leader, child}
    end_all(state, grace_seconds=2)
    assert processes_of(state) == []
    assert not is_alive(child)
    assert all(map(is_alive, others))


def test_what_is_left_of_a_dead_leader_is_found_by_its_session(
    state: HeadState, spawn: Spawn
) -> None:
    leader, child = spawn(state.marker)
    state = replace(state, leader=member_of_pid(leader.pid))
    state = replace(state, members=tuple(filter(None, [member_of_pid(child.pid)])))
    leader.kill()
    leader.wait(5)
    assert find_leader(state) is None
    assert processes_of(state) == [child]
    end_all(state, grace_seconds=2)
    assert not is_alive(child)


def test_only_the_jobs_of_runs_are_asked_to_save(state: HeadState, home: Path) -> None:
    """What keeps the job, as Ray's supervisor does, has the variable too, and must stay."""
    saved = home / "saved"
    job = (
        "import pathlib, signal, sys, time;"
        f"end = lambda *_: (pathlib.Path({str(saved)!r}).touch(), sys.exit());"
        "signal.signal(signal.SIGTERM, end);"
        "print(flush=True); time.sleep(100)"
    )
    keeper = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {job!r}]);"
    keeper += "print(flush=True); import time; time.sleep(100)"
    with subprocess.Popen(
        [sys.executable, "-c", keeper],
        env={MARKER: state.marker, RUN_VARIABLE: "run-1"},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        end_runs(state, grace_seconds=0)
        assert not saved.exists()
        end_runs(state, grace_seconds=20)
        assert saved.exists()
        assert process.stdout.readline()
        assert process.poll() is None
        process.kill()


def test_a_reused_process_id_is_not_ours(state: HeadState, spawn: Spawn) -> None:
    stranger, child = spawn("another marker")
    found = member_of_pid(stranger.pid)
    assert found is not None
    earlier = replace(found, started=found.started - 60)
    state = replace(state, leader=earlier, members=(earlier,))
    assert processes_of(state) == []
    end_all(state, grace_seconds=1)
    assert is_alive(stranger)
    assert is_alive(child)


def test_the_right_id_and_time_without_the_marker_is_no_leader(
    state: HeadState, spawn: Spawn
) -> None:
    stranger, _ = spawn("another marker")
    state = replace(state, leader=member_of_pid(stranger.pid))
    assert find_leader(state) is None
    assert processes_of(state) == []


def test_a_process_is_waited_for_until_its_environment_shows(
    state: HeadState, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = iter([{}, {}, {MARKER: state.marker}])
    with subprocess.Popen(["sleep", "100"], env={MARKER: state.marker}) as process:
        try:
            monkeypatch.setattr(psutil.Process, "environ", lambda _self: next(seen))
            await_marked(process, state.marker)
            assert list(seen) == []
        finally:
            process.kill()


def test_a_process_that_ended_at_once_is_not_waited_for(state: HeadState) -> None:
    with subprocess.Popen(["false"], env={}) as process:
        process.wait()
        began = time.monotonic()
        await_marked(process, state.marker)
        assert time.monotonic() - began < 1


def test_a_head_that_was_never_recorded_is_found_by_its_marker(
    state: HeadState, spawn: Spawn
) -> None:
    lost, _ = spawn(state.marker)
    assert processes_of(state) == [lost]


def _kill(process: psutil.Process) -> None:
    with suppress(psutil.Error):
        process.kill()
