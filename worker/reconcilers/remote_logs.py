"""Brings the logs of jobs on registered clusters to this machine, where they are read by offset."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from app.clusters.registry import ClusterAccess
from app.ray.errors import RayError
from app.ray.gateway import RayGateway
from app.ray.log_copy import LogCopy
from worker.reconcilers.gateways import Gateways

_PAUSE_SECONDS = 2.0
# A whole log may have to be read: the larger, the more seldom.
_BYTES_A_SECOND = 4_000_000
_REMEMBERED = 1_000
_KEPT_SECONDS = 86_400.0


@dataclass(slots=True)
class _Followed:
    copy: LogCopy
    next_look: float = 0.0
    is_whole: bool = False


class RemoteLogs:
    """Copies under `folder`, one a job. What is lost of it is read from the cluster again.

    `clock` counts seconds from anywhere.
    """

    def __init__(
        self, gateways: Gateways, folder: Path, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._gateways = gateways
        self._folder = folder
        self._clock = clock
        self._followed: OrderedDict[str, _Followed] = OrderedDict()

    def path(self, submission_id: str) -> Path:
        return self._folder / f"{submission_id}.log"

    async def bring(self, access: ClusterAccess, submission_id: str, *, has_ended: bool) -> bool:
        """Brings the copy up to date if that is due; whether it is all that there will be.

        A cluster that does not answer leaves it as it is.
        """
        log = self._log(submission_id)
        if log.is_whole or self._clock() < log.next_look:
            return log.is_whole
        try:
            is_there = await _update(self._gateways.get(access), submission_id, log.copy)
            log.is_whole = has_ended and is_there
        except (RayError, OSError):
            is_there = False
        pause = max(_PAUSE_SECONDS, log.copy.size / _BYTES_A_SECOND)
        log.next_look = self._clock() + pause
        return log.is_whole

    def _log(self, submission_id: str) -> _Followed:
        log = self._followed.get(submission_id)
        if log is None:
            log = self._followed[submission_id] = _Followed(LogCopy(self.path(submission_id)))
            if len(self._followed) > _REMEMBERED:
                self._followed.popitem(last=False)
        self._followed.move_to_end(submission_id)
        return log


def forget_old_copies(folder: Path, *, now: datetime) -> None:
    """Deletes copies that nothing was added to for a day; who still wants one makes it anew."""
    for file in folder.glob("*.log"):
        if file.stat().st_mtime < now.timestamp() - _KEPT_SECONDS:
            file.unlink(missing_ok=True)


async def _update(gateway: RayGateway, submission_id: str, copy: LogCopy) -> bool:
    """Whether the cluster still has the job, and a log of it."""
    job = await gateway.find_job(submission_id)
    if job is None or job.driver_node_id is None:
        return False

    async def ask(lines: int) -> bytes:
        return await gateway.tail_log(job, lines=lines)

    await copy.update(ask)
    return True
