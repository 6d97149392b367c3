"""The calls of the Python client that are about clusters."""

import time
from collections.abc import Mapping
from typing import Any, Protocol

Json = dict[str, Any]
_CHECK_PAUSE = 0.5


class Calls(Protocol):
    """What the client offers to these calls."""

    def _get(self, path: str, query: Mapping[str, Any] | None = None) -> Json: ...

    def _post(self, path: str, body: Json | None = None) -> Json: ...

    def _create(self, path: str, body: Json) -> Json: ...

    def _call(self, method: str, path: str, **options: Any) -> Json: ...


class ClusterCalls:
    """Mixed into `app.client.Client`."""

    def list_clusters(self: Calls) -> list[Json]:
        return list(self._get("/clusters")["items"])

    def get_cluster(self: Calls, cluster_id: str) -> Json:
        return self._get(f"/clusters/{cluster_id}")

    def add_cluster(self: Calls, cluster: Mapping[str, Any]) -> Json:
        """`cluster`: name, address, credential and what that needs; see `docs/clusters.md`."""
        return self._create("/clusters", dict(cluster))

    def change_cluster(self: Calls, cluster_id: str, **changes: Any) -> Json:
        """What is left out stays as it is; the two consents are `runs_member_code` (recipes that
        bring code) and `shows_secrets` (into jobs' environments).
        """
        return self._call("PATCH", f"/clusters/{cluster_id}", json=changes)

    def remove_cluster(self: Calls, cluster_id: str) -> None:
        """Raises `Conflict` while runs wait or run on it."""
        self._call("DELETE", f"/clusters/{cluster_id}")

    def check_cluster(self: Calls, cluster_id: str, *, wait_seconds: float = 120.0) -> Json:
        """The check once a worker has made it; after `wait_seconds` as it is, `queued`."""
        check = self._post(f"/clusters/{cluster_id}/check")
        until = time.monotonic() + wait_seconds
        while check["status"] == "queued" and time.monotonic() < until:
            time.sleep(_CHECK_PAUSE)
            check = self._get(f"/checks/{check['id']}")
        return check
