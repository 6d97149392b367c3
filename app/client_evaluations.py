"""The calls of the Python client that are about eval sets and evaluations."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.client_experiments import Calls

Json = dict[str, Any]
ENDED = frozenset({"succeeded", "failed", "stopped"})
"""Statuses of an evaluation that no longer moves by itself."""
_LOOK_SECONDS = 1.0


class EvaluationCalls:
    """Mixed into `app.client.Client`."""

    def list_eval_sets(self: Calls, *, project: str | None = None) -> list[Json]:
        """The built-in ones first, then the newest of your projects."""
        query: Json = {"limit": 200} | ({"project": project} if project else {})
        found: list[Json] = []
        while True:
            page = self._get("/eval-sets", query)
            found += page["items"]
            if page["next_cursor"] is None:
                return found
            query["cursor"] = page["next_cursor"]

    def create_evaluation(
        self: Calls,
        models: Sequence[Mapping[str, str]],
        eval_set: str,
        *,
        project: str | None = None,
        name: str | None = None,
        **settings: float,
    ) -> Json:
        """`models` are `{endpoint, model}`; `settings`: `temperature`, `samples`, `concurrency`."""
        body: Json = {"models": [dict(each) for each in models], "eval_set": eval_set}
        return self._create("/evaluations", body | {"project": project, "name": name} | settings)

    def list_evaluations(self: Calls, *, project: str | None = None, limit: int = 50) -> Json:
        """One page: `{items, next_cursor}`, without results."""
        query: Json = {"limit": limit} | ({"project": project} if project else {})
        return self._get("/evaluations", query)

    def get_evaluation(self: Calls, evaluation_id: str) -> Json:
        return self._get(f"/evaluations/{evaluation_id}")

    def stop_evaluation(self: Calls, evaluation_id: str) -> Json:
        return self._post(f"/evaluations/{evaluation_id}/stop")

    def resume_evaluation(self: Calls, evaluation_id: str) -> Json:
        return self._post(f"/evaluations/{evaluation_id}/resume")

    def wait_for_evaluation(
        self: Calls,
        evaluation_id: str,
        *,
        sleep: Callable[[float], None] = time.sleep,
        tell: Callable[[Json], None] = lambda _evaluation: None,
    ) -> Json:
        """The evaluation once it has ended; `tell` is called with it at each look."""
        while True:
            found = self._get(f"/evaluations/{evaluation_id}")
            tell(found)
            if found["status"] in ENDED:
                return found
            sleep(_LOOK_SECONDS)
