"""What is known of the embedded head, in files under the home folder that every process reads.

`<home>/ray/head.json` holds the state, `<home>/ray/token` (0600) the head's token.
"""

import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

TOKEN_BYTES = 32


class HeadPhase(StrEnum):
    """Where the head is in its life."""

    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Member:
    """A process by id and start time (seconds since 1970): ids are reused, pairs are not."""

    pid: int
    started: float


@dataclass(frozen=True, slots=True)
class HeadState:
    """One head. `message` is for people. `address` is the dashboard's, `agent_address` the job
    agent's. `marker` is in the environment of all its processes, and in nobody else's.
    """

    phase: HeadPhase
    message: str
    marker: str
    address: str
    agent_address: str
    temp_dir: Path
    ports: dict[str, int] = field(default_factory=dict)
    leader: Member | None = None
    members: tuple[Member, ...] = ()
    session_name: str | None = None
    session_dir: Path | None = None


def ray_dir(home: Path) -> Path:
    """The folder of the embedded cluster's own files."""
    return home / "ray"


def read_head_state(home: Path) -> HeadState | None:
    """The state as last written, or None: no head was ever started here, or the file cannot be
    read or is not ours.

    The file may be older than the truth after a crash; `EmbeddedHead` checks it against processes.
    """
    try:
        return _from_json(json.loads(_state_file(home).read_text()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def read_head_token(home: Path) -> str | None:
    """The token of the head last started, or None: there is none, or it cannot be read."""
    try:
        return _token_file(home).read_text().strip() or None
    except (OSError, ValueError):
        return None


def write_head_state(home: Path, state: HeadState) -> None:
    """Replaces the file in one step. Raises OSError."""
    _write(_state_file(home), json.dumps(asdict(state), indent=1, default=str), mode=0o644)


def renew_head_token(home: Path) -> str:
    """Makes and keeps a new random token. Raises OSError."""
    token = secrets.token_hex(TOKEN_BYTES)
    _write(_token_file(home), token, mode=0o600)
    return token


def _from_json(body: dict[str, Any]) -> HeadState:
    leader = body["leader"]
    session_dir = body["session_dir"]
    return HeadState(
        **body
        | {
            "phase": HeadPhase(body["phase"]),
            "temp_dir": Path(body["temp_dir"]),
            "leader": Member(**leader) if leader else None,
            "members": tuple(Member(**member) for member in body["members"]),
            "session_dir": Path(session_dir) if session_dir else None,
        }
    )


def _write(file: Path, text: str, *, mode: int) -> None:
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as out:
            out.write(text)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def _state_file(home: Path) -> Path:
    return ray_dir(home) / "head.json"


def _token_file(home: Path) -> Path:
    return ray_dir(home) / "token"
