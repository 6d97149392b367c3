"""Which processes belong to our head, and ending exactly those. All calls block for a moment.

Never by name: another Ray on the machine has the same names. A process is ours if it is the
recorded leader or below it, in the leader's session, recorded with id and start time, or if its
environment holds the head's random marker.
"""

import os
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress

import psutil

from app.ray.head_state import HeadState, Member

MARKER = "RAY_EMBEDDED_HEAD"
# In the environment of a run's job and of the process that looks after it, nowhere else.
RUN_VARIABLE = "SKYDECK_RUN_ID"
# Start times are computed from the boot time, which moves a little when the clock is set.
_START_SLACK_SECONDS = 2.0
_KILL_SECONDS = 5.0
_EXEC_SECONDS = 10.0
_EXEC_LOOK_SECONDS = 0.005


def member_of_pid(pid: int) -> Member | None:
    """What to record of a process; None if it has ended."""
    with suppress(psutil.NoSuchProcess):
        return Member(pid=pid, started=psutil.Process(pid).create_time())
    return None


def await_marked(process: "subprocess.Popen[bytes]", marker: str) -> None:
    """Waits until a process that was just started can be told by its marker, or has ended.

    `Popen` returns when exec closes its pipe, and only then does the kernel set up what others read
    as the environment: on a busy machine it was still empty in 44 of 1,500 starts.
    """
    until = time.monotonic() + _EXEC_SECONDS
    while process.poll() is None and time.monotonic() < until:
        with suppress(psutil.Error):
            if _is_marked(psutil.Process(process.pid), marker):
                return
        time.sleep(_EXEC_LOOK_SECONDS)


def members_of(state: HeadState) -> list[Member]:
    """What to record of all processes of a head."""
    found = (member_of_pid(process.pid) for process in processes_of(state))
    return [member for member in found if member]


def find_leader(state: HeadState) -> psutil.Process | None:
    """The head's first process if it still runs, checked by start time and marker."""
    if state.leader is None:
        return None
    process = _same(state.leader)
    return process if process and _is_marked(process, state.marker) else None


def processes_of(state: HeadState) -> list[psutil.Process]:
    """All living processes of this head, its jobs included; the leader first."""
    found: dict[int, psutil.Process] = {}
    leader = find_leader(state)
    if leader is not None:
        found[leader.pid] = leader
        with suppress(psutil.Error):
            found |= {child.pid: child for child in leader.children(recursive=True)}
    everyone = [process for process in psutil.process_iter() if process.pid != os.getpid()]
    marked = [process for process in everyone if _is_marked(process, state.marker)]
    found |= {process.pid: process for process in marked}
    recorded = (_same(member) for member in state.members)
    found |= {process.pid: process for process in recorded if process}
    # The id of a dead leader cannot be reused while a process of ours is in its session.
    if state.leader and any(_session(process) == state.leader.pid for process in found.values()):
        found |= {p.pid: p for p in everyone if _session(p) == state.leader.pid}
    return [process for process in found.values() if is_alive(process)]


def is_alive(process: psutil.Process) -> bool:
    """Whether it still runs; what only waits for its parent to take notice does not."""
    with suppress(psutil.Error):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def end_all(state: HeadState, *, grace_seconds: float) -> None:
    """Ends the head and all that is left of it: SIGTERM, a wait, SIGKILL.

    The leader goes first, since it ends the others in order.
    """
    before = processes_of(state)
    if not before:
        return
    _terminate(before[:1])
    psutil.wait_procs(before, timeout=grace_seconds)
    left = _living(before, processes_of(state))
    _terminate(left)
    psutil.wait_procs(left, timeout=grace_seconds / 4)
    left = _living(left, processes_of(state))
    for process in left:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(left, timeout=_KILL_SECONDS)


def end_runs(state: HeadState, *, grace_seconds: float) -> None:
    """Sends SIGTERM to the jobs of runs and waits until they have ended, for a time at the most.

    Ray's own process that looks after a job stays: its death would kill the job at once.
    """
    with_variable = [process for process in processes_of(state) if _has(process, RUN_VARIABLE)]
    jobs = [process for process in with_variable if _parent(process) in with_variable]
    if grace_seconds > 0 and jobs:
        _terminate(jobs)
        psutil.wait_procs(jobs, timeout=grace_seconds)


def _living(*groups: Iterable[psutil.Process]) -> list[psutil.Process]:
    merged = {process.pid: process for group in groups for process in group}
    return [process for process in merged.values() if is_alive(process)]


def _terminate(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.terminate()


def _parent(process: psutil.Process) -> psutil.Process | None:
    with suppress(psutil.Error):
        return process.parent()
    return None


def _same(member: Member) -> psutil.Process | None:
    with suppress(psutil.Error):
        process = psutil.Process(member.pid)
        off = abs(process.create_time() - member.started)
        if off < _START_SLACK_SECONDS and is_alive(process):
            return process
    return None


def _is_marked(process: psutil.Process, marker: str) -> bool:
    return _has(process, MARKER, marker)


def _has(process: psutil.Process, name: str, value: str | None = None) -> bool:
    """Whether its environment holds the variable, with this value if one is given."""
    with suppress(psutil.Error, OSError):
        found = process.environ().get(name)
        return found is not None and value in (None, found)
    return False


def _session(process: psutil.Process) -> int | None:
    with suppress(OSError):
        return os.getsid(process.pid)
    return None
