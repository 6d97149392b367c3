"""Ports, folders, environment and command line of a new embedded head. Blocking calls."""

import hashlib
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from app.ray.head_state import HeadPhase, HeadState, ray_dir
from app.ray.processes import MARKER
from app.settings import job_environment

# Ray rewrites 127.0.0.1 to the machine's own address; 127.0.0.2 it leaves alone, so that all
# connections stay on the machine.
NODE_ADDRESS = "127.0.0.2"
DASHBOARD_ADDRESS = "127.0.0.1"
# Each is an option of `ray start`. Worker ports are the system's choice, so they meet none of ours.
PORT_OPTIONS = (
    "port",
    "node-manager-port",
    "object-manager-port",
    "dashboard-port",
    "dashboard-agent-listen-port",
    "dashboard-agent-grpc-port",
    "runtime-env-agent-port",
    "metrics-export-port",
)
# A unix socket's path holds 107 bytes. Ray adds `/session_<26 characters>_<pid>/sockets/<name>`.
_SOCKET_PATH_BYTES = 107
_RAY_ADDS_BYTES = len("/session_2026-11-29_18-11-13_581739_4194304/sockets/dash_MetricsHead")
_DATABASE_NAMES = re.compile(r"(.*_)?DATABASE_URL|PG[A-Z]+")
_DEAD_SESSIONS_KEPT = 1


@dataclass(frozen=True, slots=True)
class HeadLimits:
    """What the head may use. Memory is what Ray hands out to tasks, not a hard limit."""

    cpus: int = 2
    object_store_bytes: int = 100_000_000
    memory_bytes: int = 2_000_000_000


def plan(home: Path) -> HeadState:
    """A head that does not exist yet: free ports, a fresh folder, a marker. Raises OSError."""
    ports = _free_ports()
    return HeadState(
        phase=HeadPhase.STARTING,
        message="starting Ray head",
        marker=secrets.token_hex(16),
        address=f"http://{DASHBOARD_ADDRESS}:{ports['dashboard-port']}",
        agent_address=f"http://{NODE_ADDRESS}:{ports['dashboard-agent-listen-port']}",
        temp_dir=_fresh_temp_dir(home),
        ports=ports,
    )


def launch(
    state: HeadState,
    *,
    limits: HeadLimits,
    environ: Mapping[str, str] | None,
    token: str,
    log: Path,
) -> "subprocess.Popen[bytes]":
    """Starts the head's process in a session of its own, so that neither Ctrl-C in our terminal
    nor our death reaches it. Its own output goes to `log`. Raises OSError.
    """
    with log.open("wb") as out:
        return subprocess.Popen(
            _command(state, limits),
            env=head_environment(environ, token=token, marker=state.marker),
            cwd=state.temp_dir,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def head_environment(
    environ: Mapping[str, str] | None, *, token: str, marker: str
) -> dict[str, str]:
    """What the head and its jobs see: `environ` without our settings, databases and other Rays.

    None means the environment of this process.
    """
    ours_left_out = job_environment(environ)
    kept = {n: value for n, value in ours_left_out.items() if not _DATABASE_NAMES.fullmatch(n)}
    # Entrypoints find `python` on the raylet's PATH.
    path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", os.defpath)])
    return kept | {
        "PATH": path,
        MARKER: marker,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": token,
        "RAY_USAGE_STATS_ENABLED": "0",
        # All 30 or 60 s by default, which a busy machine exceeds.
        "RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT": "150",
        "RAY_gcs_server_port_wait_time_s": "150",
        "RAY_raylet_start_wait_time_s": "150",
        "RAY_agent_register_timeout_ms": "150000",
        "RAY_worker_register_timeout_seconds": "150",
        # No metrics: nobody reads them, and their ports would be open to all. -1 is no port.
        "RAY_enable_metrics_collection": "0",
        "DASHBOARD_METRIC_PORT": "-1",
        # Two idle workers of 45 MB each.
        "RAY_prestart_worker_first_driver": "0",
        "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0",
        "RAY_ROTATION_MAX_BYTES": "20000000",
        "RAY_ROTATION_BACKUP_COUNT": "1",
    }


def remove_dead_sessions(home: Path, *, keep: Path | None) -> None:
    """Deletes the folders of heads that ended, but `keep` and the newest: a worker may still be
    reading the last lines of its logs.
    """
    dead = [
        folder
        for base in _bases(home)
        if base.is_dir()
        for folder in base.iterdir()
        if folder.is_dir() and folder != keep
    ]
    dead.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in dead[_DEAD_SESSIONS_KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)


def forget_environments(home: Path) -> None:
    """Deletes Ray's logs about the environments of jobs, which hold secrets as plain text.

    Only where no head of ours runs: a running one goes on writing to them.
    """
    for base in _bases(home):
        for log in base.glob("*/session_*/logs/runtime_env_*"):
            with suppress(OSError):
                log.unlink()


def last_useful_line(log: Path) -> str:
    """Of a head that did not start: the last line of its output that names an error."""
    try:
        text = log.read_text(errors="replace")
    except OSError:
        return ""
    lines = [line for line in (_ANSI.sub("", line).strip() for line in text.splitlines()) if line]
    errors = [line for line in lines if _ERROR.search(line)]
    return (errors or lines or [""])[-1][:500]


_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_ERROR = re.compile(r"error|exception|failed|cannot|denied|no space|timed? ?out", re.IGNORECASE)


def _command(state: HeadState, limits: HeadLimits) -> list[str]:
    script = Path(__file__).with_name("head_process.py")
    return [
        sys.executable,
        "-P",  # the script's folder holds modules that must not be imported by their bare names
        str(script),
        "--head",
        "--block",
        f"--node-ip-address={NODE_ADDRESS}",
        f"--dashboard-host={DASHBOARD_ADDRESS}",
        *(f"--{option}={port}" for option, port in state.ports.items()),
        "--min-worker-port=0",
        "--max-worker-port=0",
        f"--temp-dir={state.temp_dir}",
        f"--num-cpus={limits.cpus}",
        "--num-gpus=0",
        f"--memory={limits.memory_bytes}",
        f"--object-store-memory={limits.object_store_bytes}",
        "--disable-usage-stats",
        "--no-monitor",  # of the autoscaler; there is one node
    ]


def _free_ports() -> dict[str, int]:
    with ExitStack() as held:
        found = {}
        for option in PORT_OPTIONS:
            probe = held.enter_context(socket.socket())
            probe.bind(("", 0))
            found[option] = probe.getsockname()[1]
        return found


def _fresh_temp_dir(home: Path) -> Path:
    name = secrets.token_hex(3)
    room = _SOCKET_PATH_BYTES - _RAY_ADDS_BYTES - len(name) - 1
    base = next(base for base in _bases(home) if len(os.fsencode(base)) <= room)
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    if base.lstat().st_uid != os.getuid() or base.is_symlink():
        raise PermissionError(f"{base} belongs to somebody else; remove it")
    folder = base / name
    folder.mkdir(mode=0o700)
    return folder


def _bases(home: Path) -> tuple[Path, Path]:
    """Where heads of this home keep their folders: under it, else (paths too long) under /tmp."""
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:8]
    return ray_dir(home) / "s", Path("/tmp", f"skydeck-{digest}")  # noqa: S108 - owner is checked
