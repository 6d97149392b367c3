"""The calls of the Python client that are about experiments, their versions and sweeps."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Json = dict[str, Any]


class Calls(Protocol):
    """What the client offers to these calls."""

    def _get(self, path: str, query: Mapping[str, Any] | None = None) -> Json: ...

    def _post(self, path: str, body: Json | None = None) -> Json: ...

    def _create(self, path: str, body: Json) -> Json: ...


class ExperimentCalls:
    """Mixed into `app.client.Client`."""

    def list_experiments(
        self: Calls, *, q: str = "", tag: str = "", archived: bool = False, limit: int = 50
    ) -> Json:
        """One page: `{items, next_cursor}`."""
        query = {"q": q, "tag": tag, "archived": archived, "limit": limit}
        return self._get("/experiments", query)

    def get_experiment(self: Calls, experiment_id: str) -> Json:
        return self._get(f"/experiments/{experiment_id}")

    def list_versions(self: Calls, experiment_id: str, *, limit: int = 50) -> Json:
        """One page, newest first, each with what it changed."""
        return self._get(f"/experiments/{experiment_id}/versions", {"limit": limit})

    def get_version(self: Calls, experiment_id: str, version: int) -> Json:
        """One version, with the text that it was typed as."""
        return self._get(f"/experiments/{experiment_id}/versions/{version}")

    def create_version(
        self: Calls,
        experiment_id: str,
        config: Mapping[str, Any] | None,
        *,
        after: int | None = None,
        yaml: str | None = None,
    ) -> Json:
        """The next version, or the newest one where that has the same config already.

        `yaml` is the config as typed, whose comments are kept; without `config` it says all.
        """
        body: Json = {"after": after} | ({"yaml": yaml} if yaml is not None else {})
        body |= {} if config is None else {"config": dict(config)}
        return self._create(f"/experiments/{experiment_id}/versions", body)

    def diff_versions(self: Calls, experiment_id: str, before: int, after: int) -> list[Json]:
        query = {"from": before, "to": after}
        return list(self._get(f"/experiments/{experiment_id}/diff", query)["items"])

    def fork_experiment(
        self: Calls,
        experiment_id: str,
        *,
        version: int | None = None,
        name: str | None = None,
        project: str | None = None,
    ) -> Json:
        body = {"version": version, "name": name, "project": project}
        return self._create(f"/experiments/{experiment_id}/fork", body)

    def archive_experiment(self: Calls, experiment_id: str) -> Json:
        return self._post(f"/experiments/{experiment_id}/archive")

    def restore_experiment(self: Calls, experiment_id: str) -> Json:
        return self._post(f"/experiments/{experiment_id}/restore")

    def preview_sweep(
        self: Calls,
        experiment_id: str,
        space: Mapping[str, Any],
        *,
        version: int | None = None,
        exclude: Sequence[int] = (),
        cluster: str | None = None,
    ) -> Json:
        """Each config with what its recipe says of it; makes nothing."""
        body: Json = {"experiment": experiment_id, "space": dict(space), "version": version}
        return self._post("/sweeps/preview", body | {"exclude": list(exclude), "cluster": cluster})

    def create_sweep(
        self: Calls,
        experiment_id: str,
        space: Mapping[str, Any],
        *,
        version: int | None = None,
        exclude: Sequence[int] = (),
        name: str | None = None,
        max_running_runs: int = 4,
        cluster: str | None = None,
    ) -> Json:
        """A sweep with its runs; none of them where one config has an error."""
        body: Json = {"experiment": experiment_id, "space": dict(space), "version": version}
        body |= {"exclude": list(exclude), "name": name, "cluster": cluster}
        return self._create("/sweeps", body | {"max_running_runs": max_running_runs})

    def list_sweeps(self: Calls, *, experiment: str | None = None, limit: int = 50) -> Json:
        """One page: `{items, next_cursor}`."""
        query = {"limit": limit} | ({"experiment": experiment} if experiment else {})
        return self._get("/sweeps", query)

    def get_sweep(self: Calls, sweep_id: str) -> Json:
        return self._get(f"/sweeps/{sweep_id}")

    def stop_sweep(self: Calls, sweep_id: str) -> Json:
        return self._post(f"/sweeps/{sweep_id}/stop")

    def resume_sweep(self: Calls, sweep_id: str) -> Json:
        return self._post(f"/sweeps/{sweep_id}/resume")
