"""The embedded cluster: one real Ray head on this machine, started, found again and ended."""

import asyncio
import fcntl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from app.ray import head_launch, processes
from app.ray.client import RayClient
from app.ray.errors import HeadStartError, RayError
from app.ray.head_launch import HeadLimits
from app.ray.head_state import (
    HeadPhase,
    HeadState,
    ray_dir,
    read_head_state,
    read_head_token,
    renew_head_token,
    write_head_state,
)
from app.ray.readiness import look

_POLL_SECONDS = 0.5
# A head that was ready and does not answer: busy, or beyond help?
_ADOPT_SECONDS = 30.0
_STOP_SECONDS = 10.0
_PROBE_SECONDS = 5.0

# Kept so that ended heads are reaped; a head may well outlive us.
_children: "list[subprocess.Popen[bytes]]" = []


class EmbeddedHead:
    """The head of one home folder. Any number of objects, in any process, mean the same head.

    It survives the death of whoever started it, and is found again by `ensure_running`.
    """

    def __init__(
        self,
        home: Path,
        *,
        limits: HeadLimits | None = None,
        environ: Mapping[str, str] | None = None,
        attempts: int = 3,
        start_seconds: float = 180.0,
    ) -> None:
        self._home = home
        self._limits = limits or HeadLimits()
        self._environ = environ
        self._attempts = attempts
        self._start_seconds = start_seconds
        self._log = ray_dir(home) / "head.log"

    async def ensure_running(self) -> HeadState:
        """The head, ready for jobs: the one already there, or a new one.

        `head.json` tells the progress meanwhile. Raises `HeadStartError` with the reason; nothing
        is left running then.
        """
        try:
            ray_dir(self._home).mkdir(parents=True, exist_ok=True)
            with self._alone():
                return await self._find_again() or await self._start()
        except OSError as error:
            raise HeadStartError(
                f"The embedded Ray cluster cannot write under {ray_dir(self._home)}: "
                f"{error.strerror or error}. Free space or fix the folder's permissions."
            ) from error

    async def stop(self, *, job_seconds: float = 0.0) -> None:
        """Ends all processes of the head and its jobs, and no others.

        The jobs of runs are asked first, and have up to `job_seconds` to save their state.
        """
        state = read_head_state(self._home)
        if state is None:
            return
        with self._alone():
            # Said first, so that `wait` elsewhere does not take this for a crash.
            write_head_state(
                self._home, replace(state, phase=HeadPhase.STOPPED, message="stopping")
            )
            await asyncio.to_thread(processes.end_runs, state, grace_seconds=job_seconds)
            await self._end(state)
            await asyncio.to_thread(head_launch.forget_environments, self._home)
            write_head_state(
                self._home, replace(state, phase=HeadPhase.STOPPED, message="stopped", members=())
            )

    async def wait(self) -> HeadState:
        """Returns when the head no longer runs, with its last state: `failed`, or `stopped` if
        somebody asked for that.
        """
        while self.is_running():  # noqa: ASYNC110 - it need not be our child: nothing to await
            await asyncio.sleep(_POLL_SECONDS)
        state = read_head_state(self._home)
        if state is None:
            raise HeadStartError("No embedded Ray cluster was started here. Start Skydeck first.")
        if state.phase is not HeadPhase.STOPPED:
            reason = head_launch.last_useful_line(self._log)
            state = replace(state, phase=HeadPhase.FAILED, message=f"Ray head ended: {reason}")
            write_head_state(self._home, state)
        return state

    def is_running(self) -> bool:
        """Whether the head's first process is alive; it ends when any part of it dies."""
        _reap()
        state = read_head_state(self._home)
        return state is not None and processes.find_leader(state) is not None

    def client(self) -> RayClient:
        """A gateway to the head as last written. Raises `HeadStartError` if there is none."""
        state, token = read_head_state(self._home), read_head_token(self._home)
        if state is None or token is None:
            raise HeadStartError("No embedded Ray cluster was started here. Start Skydeck first.")
        return RayClient.embedded(state.address, token=token)

    async def _find_again(self) -> HeadState | None:
        state, token = read_head_state(self._home), read_head_token(self._home)
        if state is None:
            return None
        if token and processes.find_leader(state):
            is_new = state.phase is HeadPhase.STARTING
            seconds = self._start_seconds if is_new else _ADOPT_SECONDS
            try:
                return await self._until_ready(state, token, seconds=seconds)
            except HeadStartError:
                pass
        await self._end(state)
        return None

    async def _start(self) -> HeadState:
        for attempt in range(1, self._attempts + 1):
            try:
                return await self._start_once()
            except HeadStartError as error:
                if attempt == self._attempts:
                    raise
                note = f"starting Ray head again (attempt {attempt + 1}): {error.message}"
                state = read_head_state(self._home)
                if state is not None:
                    write_head_state(
                        self._home, replace(state, phase=HeadPhase.STARTING, message=note)
                    )
        raise AssertionError("attempts must be at least 1")

    async def _start_once(self) -> HeadState:
        previous = read_head_state(self._home)
        kept = previous.temp_dir if previous else None
        await asyncio.to_thread(head_launch.remove_dead_sessions, self._home, keep=kept)
        # A head that was killed left them behind.
        await asyncio.to_thread(head_launch.forget_environments, self._home)
        state = await asyncio.to_thread(head_launch.plan, self._home)
        token = renew_head_token(self._home)
        # Written before the start: whoever dies in between leaves the marker to find it by.
        write_head_state(self._home, state)
        try:
            state = await asyncio.to_thread(self._launch, state, token)
            return await self._until_ready(state, token, seconds=self._start_seconds)
        except (HeadStartError, OSError) as error:
            await self._end(state)
            message = error.message if isinstance(error, HeadStartError) else str(error)
            write_head_state(
                self._home, replace(state, phase=HeadPhase.FAILED, message=message, members=())
            )
            raise

    def _launch(self, state: HeadState, token: str) -> HeadState:
        child = head_launch.launch(
            state, limits=self._limits, environ=self._environ, token=token, log=self._log
        )
        _children.append(child)
        processes.await_marked(child, state.marker)
        state = replace(state, leader=processes.member_of_pid(child.pid))
        write_head_state(self._home, state)
        return state

    async def _until_ready(self, state: HeadState, token: str, *, seconds: float) -> HeadState:
        """Follows the start, writing each step. Raises `HeadStartError`."""
        client = RayClient.embedded(state.address, token=token, read_seconds=_PROBE_SECONDS)
        try:
            async with asyncio.timeout(seconds):
                session_name = await self._follow_start(state, client)
        except TimeoutError:
            raise self._failure(f"not ready after {seconds:.0f} s") from None
        except RayError as error:
            raise self._failure(error.message) from error
        finally:
            await client.aclose()
        return await asyncio.to_thread(self._note_ready, state, session_name)

    async def _follow_start(self, state: HeadState, client: RayClient) -> str:
        """The session's name, once jobs can be submitted."""
        while True:
            _reap()
            if processes.find_leader(state) is None:
                raise HeadStartError("it ended")
            progress = await look(state, client)
            if progress.cluster is not None:
                return progress.cluster.session_name
            if progress.message != state.message:
                state = replace(state, message=progress.message)
                write_head_state(self._home, state)
            await asyncio.sleep(_POLL_SECONDS)

    def _note_ready(self, state: HeadState, session_name: str) -> HeadState:
        ready = replace(
            state,
            phase=HeadPhase.READY,
            message="ready",
            session_name=session_name,
            session_dir=state.temp_dir / session_name,
            members=tuple(processes.members_of(state)),
        )
        write_head_state(self._home, ready)
        return ready

    def _failure(self, reason: str) -> HeadStartError:
        line = head_launch.last_useful_line(self._log)
        said = f" Ray's last words: {line}" if line else ""
        return HeadStartError(
            f"The embedded Ray cluster did not start: {reason}.{said} (all of it: {self._log})"
        )

    async def _end(self, state: HeadState) -> None:
        await asyncio.to_thread(processes.end_all, state, grace_seconds=_STOP_SECONDS)
        _reap()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Holds the home's lock, so that two Skydecks never start or stop at once."""
        with (ray_dir(self._home) / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise HeadStartError(
                    f"Another Skydeck is starting or stopping the Ray cluster of {self._home}. "
                    "Wait for it, or give this one another home folder."
                ) from None
            yield


def _reap() -> None:
    _children[:] = [child for child in _children if child.poll() is None]
