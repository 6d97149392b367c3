"""Whether jobs of a cluster reach Skydeck: a small job there asks what only it can answer."""

import asyncio
import shlex
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from app.models import ClusterKind
from app.ray.checkup import Finding
from app.ray.errors import RayError
from app.ray.gateway import JobInfo, RayGateway
from app.settings import ROOT
from worker.jobs.probe import Way
from worker.reconcilers.job_tracking import Addresses

NAME = "way_back"
START_SECONDS = 90.0
_PAUSE_SECONDS = 0.5
_PROGRAM = ROOT / "worker" / "jobs" / "probe.py"
_MARK = "probe: "
_PORTS = {"http": 80, "https": 443}
_NOT_SET_UP = (
    "Not set up: SKYDECK_PUBLIC_URL is not set, so jobs here are not told where they could log to. "
    "Their logs are read all the same. Set it to an address of Skydeck that the cluster reaches, "
    "start Skydeck again, and check again."
)
_NO_KEY = (
    "Skydeck has no key file, so jobs are given no tokens: `skydeck up` makes one at its next start"
)
# What stood in the way, and what to do about it; {place} is host and port.
_SENTENCES = {
    Way.UNKNOWN_HOST: "The cluster does not know the host of {place}. Add it to the cluster's DNS, "
    "or set SKYDECK_PUBLIC_URL to an address that is known there.",
    Way.REFUSED: "Nothing listens at {place}, as seen from the cluster. Have Skydeck listen on an "
    "address that the cluster reaches (SKYDECK_HOST), or set SKYDECK_PUBLIC_URL to the proxy in "
    "front of it.",
    Way.SILENT: "Nothing answers at {place} within 10 s. Open the way from the cluster to it: "
    "security groups, firewalls, routes.",
    Way.UNTRUSTED: "The cluster does not trust the certificate of {place}. Take one of an "
    "authority that the cluster's images know, or add the authority to them.",
    Way.TURNED_AWAY: "Something at {place} turned the request away before Skydeck saw it. Let "
    "requests to /api/ pass with their Authorization header, without a sign-in page.",
    Way.SOMEBODY_ELSE: "Another service answers at {place}. Set SKYDECK_PUBLIC_URL to the address "
    "of this Skydeck.",
    Way.BROKEN: "The connection to {place} failed. Look at what stands between the cluster and it.",
}

Sleep = Callable[[float], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Question:
    """`check` names the check, and with it the job; `proof` is the answer, None without a key."""

    check: str
    kind: ClusterKind
    proof: str | None


class WayBack:
    """`sleep` pauses between two looks at the job."""

    def __init__(self, addresses: Addresses, *, sleep: Sleep = asyncio.sleep) -> None:
        self._addresses = addresses
        self._sleep = sleep

    def address(self, kind: ClusterKind) -> str | None:
        """What jobs of such a cluster are told."""
        return self._addresses.of(kind)

    async def look(self, gateway: RayGateway, question: Question) -> Finding:
        """Repeatable: a second try finds the job of the first."""
        url = self.address(question.kind)
        if url is None:
            return Finding(NAME, ok=True, message=_NOT_SET_UP)
        if question.proof is None:
            return Finding(NAME, ok=False, message=_NO_KEY)
        try:
            job = await self._ended(gateway, await _submitted(gateway, question, url))
            with suppress(RayError):
                await gateway.delete(job.submission_id)
        except RayError as error:
            message = f"The job that was to try it could not be run. {error.message}"
            return Finding(NAME, ok=False, message=message)
        return _finding(job, url)

    async def _ended(self, gateway: RayGateway, job: JobInfo) -> JobInfo:
        """The job once it has ended, or as it is when nobody waits any longer."""
        for _ in range(round(START_SECONDS / _PAUSE_SECONDS)):
            if job.status.is_final:
                return job
            await self._sleep(_PAUSE_SECONDS)
            job = await gateway.get_job(job.submission_id)
        with suppress(RayError):
            await gateway.stop(job.submission_id)
        return job


async def _submitted(gateway: RayGateway, question: Question, url: str) -> JobInfo:
    program = await asyncio.to_thread(_PROGRAM.read_text)
    return await gateway.submit(
        submission_id=f"skydeck-probe-{question.check}",
        entrypoint=f"exec python -c {shlex.quote(program)}",
        env_vars={
            "SKYDECK_PROBE_URL": url,
            "SKYDECK_PROBE_CHECK": question.check,
            "SKYDECK_PROBE_PROOF": question.proof or "",
        },
        metadata={"job_name": "Skydeck's probe"},
    )


def _finding(job: JobInfo, url: str) -> Finding:
    if not job.status.is_final:
        message = (
            f"The job that was to try it is {job.status.lower()} after {START_SECONDS:.0f} s: the "
            "cluster takes no jobs at the moment. Check again when it does."
        )
        return Finding(NAME, ok=False, message=message)
    try:
        way = Way(-1 if job.driver_exit_code is None else job.driver_exit_code)
    except ValueError:
        detail = job.message.strip()[-500:] or f"it ended as {job.status.lower()}"
        message = f"The job that was to try it could not do so: {detail}"
        return Finding(NAME, ok=False, message=message)
    if way is Way.OPEN:
        return Finding(NAME, ok=True, message=f"Jobs here reach Skydeck at {url}.")
    message = _SENTENCES[way].format(place=_place(url)) + _detail(job)
    return Finding(NAME, ok=False, message=message)


def _detail(job: JobInfo) -> str:
    lines = [line for line in job.message.splitlines() if line.startswith(_MARK)]
    return f" ({lines[-1].removeprefix(_MARK)[:300]})" if lines else ""


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or _PORTS[parts.scheme]}"
