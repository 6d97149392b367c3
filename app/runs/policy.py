"""What a cluster may be asked to run, by what its administrator agreed to. Pure.

Looked at twice: when a run is launched, and by the worker before anything is started.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.clusters.service import gpus_by_node, has_way_back, is_off
from app.errors import NotFound
from app.models import Cluster, ClusterKind
from app.recipes import service as recipes
from app.recipes.model import Recipe

CLUSTER = "cluster"
EMBEDDED_OFF = "embedded_off"


@dataclass(frozen=True, slots=True)
class Barrier:
    """Why a run may not start. `field` is what is blamed; `rule` a stable id; `fix` what to do."""

    field: str
    rule: str
    message: str
    fix: str


def barriers(cluster: Cluster, recipe: str, values: Mapping[str, Any]) -> list[Barrier]:
    """All that keeps a config of this recipe from running on the cluster; empty: nothing does."""
    found = [
        _removed(cluster),
        _off(cluster),
        _embedded_only(cluster, recipe),
        _member_code(cluster, recipe),
        _shown_secrets(cluster, values),
    ]
    return [barrier for barrier in found if barrier is not None]


def _removed(cluster: Cluster) -> Barrier | None:
    if cluster.removed_at is None:
        return None
    return Barrier(
        CLUSTER, "removed", f"cluster {cluster.name} is gone", "launch on another cluster"
    )


def _embedded_only(cluster: Cluster, recipe: str) -> Barrier | None:
    if cluster.kind is ClusterKind.EMBEDDED or not recipes.is_embedded_only(recipe):
        return None
    return Barrier(
        CLUSTER,
        "embedded_only",
        f"recipe {recipe} trains on Skydeck's own machine, and cluster {cluster.name} is another "
        "one",
        "choose the embedded cluster, or another recipe",
    )


def first_that_runs(offered: Sequence[Cluster], recipe: Recipe) -> Cluster:
    """Of clusters to choose from, the one for a recipe unless somebody says another."""
    own = [each for each in offered if each.kind is ClusterKind.EMBEDDED]
    others = [each for each in offered if each.kind is not ClusterKind.EMBEDDED]
    is_refused = recipes.embedded_refusal(recipe) is not None
    return ((others + own) if is_refused else (own + others))[0]


def place_on(cluster: Cluster, others: Sequence[recipes.OtherRun] = ()) -> recipes.Place:
    """What a config is looked at beside: the cluster's GPUs, as far as anybody saw its nodes."""
    if cluster.kind is ClusterKind.EMBEDDED:
        return recipes.Place(is_embedded=True, other_runs=others)
    gpus = gpus_by_node(cluster)
    seen = None
    if gpus:
        seen = recipes.ClusterResources(
            name=cluster.name, gpus_by_node=gpus, reaches_us=has_way_back(cluster)
        )
    return recipes.Place(cluster=seen, other_runs=others)


def _off(cluster: Cluster) -> Barrier | None:
    if not is_off(cluster):
        return None
    return Barrier(
        CLUSTER,
        EMBEDDED_OFF,
        f"cluster {cluster.name} is off: {cluster.message}",
        "choose another cluster, or set SKYDECK_EMBEDDED_CLUSTER=on and start `skydeck up` again",
    )


def _member_code(cluster: Cluster, recipe: str) -> Barrier | None:
    if cluster.kind is not ClusterKind.EMBEDDED or cluster.runs_member_code:
        return None
    try:
        if recipes.get(recipe).is_builtin_code:
            return None
    except NotFound:
        # An upgrade dropped it: there is nothing to run, which is said where the job is made.
        return None
    return Barrier(
        CLUSTER,
        "member_code",
        f"recipe {recipe} runs code of its own, and cluster {cluster.name} runs as the service's "
        "user: it takes built-in recipes only",
        "choose another cluster, or ask an administrator to allow it on the clusters page",
    )


def _shown_secrets(cluster: Cluster, values: Mapping[str, Any]) -> Barrier | None:
    names = recipes.secret_names(values)
    if not names or cluster.shows_secrets:
        return None
    return Barrier(
        recipes.SECRETS,
        "shows_secrets",
        f"{', '.join(names)} would be in the job's environment, which Ray shows to everybody who "
        f"reaches cluster {cluster.name}",
        "ask an administrator to accept that on the clusters page, or launch without secrets",
    )
