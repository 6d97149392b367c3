"""The models by name: the base, and `base:<adapter>` loaded at its first use."""

import logging
import re
from collections import OrderedDict
from pathlib import Path

from worker.jobs.maze_grpo.model import Policy
from worker.jobs.maze_grpo.vectors import Arrays
from worker.serving.adapters import Stamp, Unusable, merged, stamp
from worker.serving.errors import ServingError, bad_request, unknown_model
from worker.serving.limits import MAX_ADAPTERS

BASE = "maze-base"
_ADAPTER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

log = logging.getLogger(__name__)


class Models:
    """Policies of one base and of the adapters in a folder, one subfolder each.

    A few adapters stay merged in memory. The folder is looked at on each request, so that a new,
    changed or removed adapter is noticed. Not for several threads at once.
    """

    def __init__(self, base: Arrays, folder: Path, *, capacity: int = MAX_ADAPTERS) -> None:
        self._base_weights, self._base = base, Policy(base)
        self._folder, self._capacity = folder, capacity
        self._loaded: OrderedDict[str, tuple[Stamp, Policy | Unusable]] = OrderedDict()

    def names(self) -> list[str]:
        """Full names of the adapters, sorted. One that is broken says so when it is used."""
        try:
            found = sorted(path.name for path in self._folder.iterdir())
        except OSError:
            return []
        return [f"{BASE}:{name}" for name in found if self._stamp(name) is not None]

    def policy(self, name: str) -> Policy:
        """Raises `ServingError`: 404 if there is none of that name, 400 if it is unusable."""
        if name == BASE:
            return self._base
        base, _, adapter = name.partition(":")
        found = self._stamp(adapter) if base == BASE else None
        if found is None:
            self._loaded.pop(adapter, None)
            raise unknown_model(name, aliases=BASE)
        loaded = self._load(adapter, found)
        if isinstance(loaded, Unusable):
            raise _unusable(name, loaded)
        return loaded

    def _stamp(self, adapter: str) -> Stamp | None:
        return stamp(self._folder / adapter) if _ADAPTER.fullmatch(adapter) else None

    def _load(self, adapter: str, found: Stamp) -> Policy | Unusable:
        known = self._loaded.get(adapter)
        if known is None or known[0] != found:
            known = self._loaded[adapter] = (found, self._read(adapter))
        self._loaded.move_to_end(adapter)
        if len(self._loaded) > self._capacity:
            self._loaded.popitem(last=False)
        return known[1]

    def _read(self, adapter: str) -> Policy | Unusable:
        try:
            policy = Policy(merged(self._folder / adapter, self._base_weights))
        except Unusable as error:
            log.warning("adapter %s cannot be loaded: %s", adapter, error)
            return error
        log.info("adapter %s loaded", adapter)
        return policy


def _unusable(name: str, error: Unusable) -> ServingError:
    return bad_request(
        f"LoRA adapter '{name}' was found but could not be loaded: {error}", param="model"
    )
