"""The log file of a job on the embedded cluster, read by offset."""

import asyncio
from pathlib import Path


def job_log_path(session_dir: Path, submission_id: str) -> Path:
    """Where Ray writes a job's stdout and stderr: one file, append only, never rotated."""
    return session_dir / "logs" / f"job-driver-{submission_id}.log"


async def read_log_file(path: Path, *, offset: int, limit: int) -> bytes | None:
    """Up to `limit` bytes from `offset`, empty at the end; None while no file can be read there."""
    return await asyncio.to_thread(_read, path, offset, limit)


def _read(path: Path, offset: int, limit: int) -> bytes | None:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(limit)
    except OSError:
        return None
