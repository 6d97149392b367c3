"""What rules know besides the config: the cluster, the data, other runs, what the script does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterResources:
    """GPUs of a cluster, one number for each node.

    `reaches_us`: whether a check found that jobs there reach Skydeck; None while none has said.
    """

    name: str
    gpus_by_node: tuple[int, ...]
    reaches_us: bool | None = None

    @property
    def gpus(self) -> int:
        return sum(self.gpus_by_node)

    @property
    def largest_node(self) -> int:
        """GPUs of the node with most of them; 0 without nodes."""
        return max(self.gpus_by_node, default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """Rows of a data set that is made for the run.

    `seeds` are those of the rows, None if the rows have none. `seed_key` names the config key that
    holds the first seed, if the config has one.
    """

    rows: int
    env_id: str = "maze_2d/easy"
    seeds: Sequence[int] | None = None
    seed_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRun:
    """Paths that another run writes to."""

    name: str
    ckpt_path: str | None = None
    lora_sync_path: str | None = None
    export_path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Everything about a launch that is not in the config. All of it may be unknown.

    `given` are the values that the user set, by dotted key; None if unknown. `environment` holds
    the variables of the job. `shared_paths` are folders that all nodes share, `run_folder` is this
    run's own below one of them. `resumes_safely` says that the script resumes without losing an
    epoch. `endpoint_max_lora_rank` is the `max_lora_rank` of the server for the adapters.
    `wrong_types` are keys whose values were found to be of a wrong type already.
    """

    given: Mapping[str, Any] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    train: DataSet | None = None
    evaluation: DataSet | None = None
    other_runs: Sequence[OtherRun] = ()
    shared_paths: tuple[str, ...] = ("/shared",)
    run_folder: str | None = None
    resumes_safely: bool = False
    endpoint_max_lora_rank: int | None = None
    wrong_types: frozenset[str] = frozenset()
    cluster: ClusterResources | None = None


NOTHING_KNOWN = Context()
