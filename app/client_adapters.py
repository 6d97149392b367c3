"""The calls of the Python client that are about checkpoints and adapters."""

import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from app.client_experiments import Calls
from app.errors import Conflict, NotFound

Json = dict[str, Any]
_ENDED = ("succeeded", "failed")


class _Calls(Calls, Protocol):
    def list_checkpoints(self, run_id: str, *, kind: str | None = None) -> Iterator[Json]: ...

    def get_promotion(self, promotion_id: str) -> Json: ...


class AdapterCalls:
    """Mixed into `app.client.Client`."""

    def list_checkpoints(self: Calls, run_id: str, *, kind: str | None = None) -> Iterator[Json]:
        """All of a run, the highest step first; `kind` is `state` or `adapter`."""
        query: Json = {"limit": 200} | ({"kind": kind} if kind else {})
        while True:
            page = self._get(f"/runs/{run_id}/checkpoints", query)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            query["cursor"] = page["next_cursor"]

    def find_export(self: _Calls, run_id: str, step: int | None = None) -> Json:
        """The adapter that a run exported at a step; None: the one that did best.

        Raises `NotFound`, saying which steps there are, and `Conflict` if none was measured.
        """
        found = list(self.list_checkpoints(run_id, kind="adapter"))
        if step is None:
            best = next((each for each in found if each["is_best_exportable"]), None)
            if best is None:
                raise Conflict(f"no adapter of {run_id} is complete and was measured: name a step")
            return best
        for each in found:
            if each["step"] == step:
                return each
        steps = ", ".join(str(each["step"]) for each in found[:20]) or "none"
        raise NotFound(f"{run_id} has no adapter of step {step}; there is: {steps}")

    def promote(
        self: Calls, checkpoint_id: str, *, name: str | None = None, destination: str | None = None
    ) -> Json:
        """Has it copied to where it is served; asked again, gives the same promotion."""
        body = {"adapter_name": name, "destination": destination}
        return self._create(f"/checkpoints/{checkpoint_id}/promote", body)

    def get_promotion(self: Calls, promotion_id: str) -> Json:
        return self._get(f"/promotions/{promotion_id}")

    def wait_promotion(
        self: _Calls,
        promotion_id: str,
        *,
        every_seconds: float = 0.5,
        sleep: Callable[[float], None] = time.sleep,
        tell: Callable[[Json], None] = lambda _promotion: None,
    ) -> Json:
        """The promotion once it has ended, well or not; `tell` is called with it at each look."""
        while True:
            promotion = self.get_promotion(promotion_id)
            tell(promotion)
            if promotion["status"] in _ENDED:
                return promotion
            sleep(every_seconds)

    def list_adapters(
        self: Calls, *, project: str | None = None, run: str | None = None, limit: int = 50
    ) -> Json:
        """One page, newest first: `{items, next_cursor}`."""
        query: Json = {"limit": limit}
        query |= {name: value for name, value in (("project", project), ("run", run)) if value}
        return self._get("/adapters", query)
