"""How much memory the embedded head takes, process by process."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath

import psutil

from app.ray.head_state import HeadState
from app.ray.processes import processes_of


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """Memory of one process. `pss_bytes` counts shared pages once over all who share them; where
    the system does not know it (it needs Linux), it equals `rss_bytes`.
    """

    pid: int
    name: str
    rss_bytes: int
    pss_bytes: int


def memory_of_head(state: HeadState) -> list[ProcessMemory]:
    """All processes of the head and its jobs, the largest first. Blocks for some 100 ms."""
    found = []
    for process in processes_of(state):
        with suppress(psutil.Error):
            memory = process.memory_full_info()
            pss = getattr(memory, "pss", memory.rss)
            found.append(ProcessMemory(process.pid, _name(process), memory.rss, pss))
    return sorted(found, key=lambda entry: entry.pss_bytes, reverse=True)


def _name(process: psutil.Process) -> str:
    words = process.cmdline() or [process.name()]
    script = next((word for word in words if word.endswith(".py")), words[0])
    return PurePath(script.split(" ")[0]).name
