"""One child process that must not stay dead."""

import asyncio
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from app.errors import StartError
from app.settings import ROOT

_CHILD = Path(__file__).with_name("child.py")
_STOP_SECONDS = 6.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 10.0
# A process that lived this long was well: its next death is a new matter.
_HEALTHY_SECONDS = 30.0
_DEATHS_BEFORE_READY = 4

log = logging.getLogger(__name__)


class Service:
    """`python ARGUMENT…`, started again with growing pauses whenever it ends."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        *,
        environ: Mapping[str, str],
        files: Sequence[int] = (),
    ) -> None:
        """`files`: open file descriptors that the process inherits."""
        self.name = name
        launcher = [sys.executable, "-I", str(_CHILD), str(os.getpid())]
        self._command = [*launcher, sys.executable, *arguments]
        self._environ = environ
        self._files = tuple(files)
        self._process: asyncio.subprocess.Process | None = None

    async def keep(self, is_ready: asyncio.Event) -> None:
        """Runs it until cancelled. Raises `StartError` if it keeps dying before `is_ready`."""
        loop = asyncio.get_running_loop()
        deaths = 0
        while True:
            born = loop.time()
            process = self._process = await self._start()
            status = await process.wait()
            deaths = 1 if loop.time() - born > _HEALTHY_SECONDS else deaths + 1
            if deaths >= _DEATHS_BEFORE_READY and not is_ready.is_set():
                raise StartError(
                    f"the {self.name} process ends at once, {deaths} times (see above)"
                )
            pause = min(_FIRST_PAUSE * 2 ** (deaths - 1), _LONGEST_PAUSE)
            log.warning("%s ended (%s), starting it again in %.1f s", self.name, status, pause)
            await asyncio.sleep(pause)

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL after some seconds. Call it after `keep` was cancelled."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _start(self) -> asyncio.subprocess.Process:
        # A session of its own: Ctrl-C is for us, who end the others in the right order. Standard
        # output is ours alone too: whoever reads it waits for one line.
        return await asyncio.create_subprocess_exec(
            *self._command,
            cwd=ROOT,
            env=dict(self._environ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=sys.stderr,
            pass_fds=self._files,
            start_new_session=True,
        )
