"""What is shown of the embedded cluster, from its start to its end."""

import pytest

from app.clusters import service as clusters
from app.models import Cluster, ClusterStatus
from app.ray.errors import RayUnreachable
from app.ray.head_state import HeadPhase, ray_dir
from tests.worker.reconcilers.conftest import Bench
from worker.reconcilers.clusters import STEADY_POLLS


async def read_cluster(bench: Bench) -> Cluster:
    async with bench.database.read() as session:
        return await clusters.get(session, clusters.EMBEDDED)


async def test_a_ready_cluster_shows_its_session_and_nodes(bench: Bench) -> None:
    cluster = await read_cluster(bench)
    assert (cluster.status, cluster.session_name) == (ClusterStatus.READY, "session_1")
    assert cluster.observed_at == bench.clock()
    assert cluster.details["ray_version"] == "2.60.0"
    (node,) = cluster.details["nodes"]
    assert (node["cpu_count"], node["memory_used_bytes"]) == (2, 2_000)


@pytest.mark.parametrize(
    ("phase", "status"),
    [
        (HeadPhase.STARTING, ClusterStatus.STARTING),
        (HeadPhase.FAILED, ClusterStatus.FAILED),
        (HeadPhase.STOPPED, ClusterStatus.STOPPED),
    ],
)
async def test_before_it_answers_the_head_s_file_is_shown(
    bench: Bench, phase: HeadPhase, status: ClusterStatus
) -> None:
    bench.write_head(phase, "waiting for job agent")
    bench.gateway.trouble = RayUnreachable("http://127.0.0.1:1", "must not be asked")
    await bench.step(STEADY_POLLS)
    cluster = await read_cluster(bench)
    assert (cluster.status, cluster.message) == (status, "waiting for job agent")


async def test_a_head_that_was_never_started_is_said_to_be_so(bench: Bench) -> None:
    (ray_dir(bench.home) / "head.json").unlink()
    await bench.step(STEADY_POLLS)
    cluster = await read_cluster(bench)
    assert cluster.status is ClusterStatus.STARTING
    assert "not been started" in cluster.message


async def test_a_silent_cluster_is_unreachable_and_keeps_its_details(bench: Bench) -> None:
    bench.gateway.trouble = RayUnreachable("http://127.0.0.1:1", "ConnectTimeout")
    await bench.step(STEADY_POLLS)
    cluster = await read_cluster(bench)
    assert cluster.status is ClusterStatus.UNREACHABLE
    assert "ConnectTimeout" in cluster.message
    assert cluster.details["nodes"]
    bench.gateway.trouble = None
    await bench.step(STEADY_POLLS)
    assert (await read_cluster(bench)).status is ClusterStatus.READY
