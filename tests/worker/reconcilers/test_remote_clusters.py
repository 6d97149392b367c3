"""Registered clusters under a real worker: one that hangs leaves the others alone."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.clusters import registry
from app.clusters.registration import Wish
from app.db import Database
from app.experiments import service as experiments
from app.logs import service as log_store
from app.models import Cluster, ClusterCheck, ClusterStatus, Run, RunStatus
from app.projects import service as projects
from app.runs import service as runs
from app.secrets import service as secrets
from tests.factories import ADA
from tests.fakes.connector import connector
from tests.fakes.hyperpod import FakeHyperpod
from tests.fakes.ray import FakeRay
from tests.secrets.conftest import with_keys
from worker.reconciler import Loop
from worker.reconcilers.attempts import AttemptsReconciler
from worker.reconcilers.checks import ChecksReconciler
from worker.reconcilers.clusters import ClustersReconciler
from worker.reconcilers.gateways import OpenGateways
from worker.reconcilers.job_code import Packages
from worker.reconcilers.job_tracking import Addresses
from worker.reconcilers.logs import LogsReconciler
from worker.reconcilers.remote_logs import RemoteLogs
from worker.reconcilers.way_back import WayBack

POLL = timedelta(seconds=0.2)
NO_ADDRESS = Addresses(Path("nowhere"), None)
HUNG = 50


@pytest.fixture
def store(database: Database, tmp_path: Path) -> Database:
    return with_keys(database, tmp_path / "home" / "secret.keys")


@pytest.fixture
async def gateways(tmp_path: Path) -> AsyncIterator[OpenGateways]:
    opened = OpenGateways(tmp_path / "home", connector())
    yield opened
    await opened.aclose()


@pytest.mark.slow
async def test_fifty_hung_submits_leave_another_cluster_alone(
    sqlite_database: Database, gateways: OpenGateways, tmp_path: Path
) -> None:
    store = with_keys(sqlite_database, tmp_path / "home" / "secret.keys")
    async with FakeRay().serve() as stuck, FakeRay().serve() as well:
        slow = await add(store, "stuck", stuck)
        quick = await add(store, "well", well)
        await look(store, gateways, tmp_path)
        stuck.hold_submits = True
        await queue(store, slow, HUNG)
        names = await queue(store, quick, 5)
        stop = asyncio.Event()
        attempts = AttemptsReconciler(
            gateways,
            Packages(store, tmp_path / "home"),
            addresses=NO_ADDRESS,
            runs_dir=tmp_path / "runs",
            poll=POLL,
        )
        working = asyncio.create_task(Loop(store, attempts, lease_seconds=30).run(stop))
        try:
            # A hung submit alone takes a minute, and two go at a time: in turn that is 25 minutes.
            async with asyncio.timeout(120):
                while {f"{name}-a1" for name in names} - well.jobs.keys():  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        finally:
            stop.set()
            await working
    assert 0 < len(stuck.jobs) < HUNG


async def test_a_hyperpod_cluster_runs_a_job_and_tells_its_restart(
    store: Database, tmp_path: Path
) -> None:
    async with FakeRay(token=None).serve() as ray, FakeHyperpod(ray.address).serve() as pod:
        connecting = connector()
        connecting._make_client = pod.make_client()
        gateways = OpenGateways(tmp_path / "home", connecting)
        wish = Wish(
            name="HyperPod",
            address="sagemaker_ray://skyrl/team-a",
            credential="kubeconfig",
            kubeconfig=pod.kubeconfig,
            ca=pod.ca,
        )
        async with store.write() as session:
            cluster = await registry.create(session, wish, actor=ADA)
            check = await registry.ask_check(session, cluster, actor=ADA)
        checks = Loop(
            store, ChecksReconciler(gateways, connecting, WayBack(NO_ADDRESS)), lease_seconds=30
        )
        assert await checks.turn() == 1
        await look(store, gateways, tmp_path)
        async with store.read() as session:
            seen = await session.get_one(Cluster, cluster.id)
            done = await session.get_one(ClusterCheck, check.id)
        assert (seen.status, seen.session_name) == (ClusterStatus.READY, ray.session_name)
        assert [row["name"] for row in done.findings] == [
            "connection",
            "machines",
            "jobs",
            "way_back",
        ]
        assert all(row["ok"] for row in done.findings)
        assert "SKYDECK_PUBLIC_URL is not set" in done.findings[-1]["message"]
        assert "head_restarted_at" not in seen.details
        ray.restart()
        await look(store, gateways, tmp_path, again=seen.id)
        async with store.read() as session:
            seen = await session.get_one(Cluster, cluster.id)
        assert seen.details["head_restarted_at"]
        await gateways.aclose()


async def test_a_check_of_a_cluster_without_its_secret_says_so(
    store: Database, gateways: OpenGateways
) -> None:
    wish = Wish(name="x", address="http://127.0.0.1:1", credential="token", secret="s3cret-token")
    async with store.write() as session:
        cluster = await registry.create(session, wish, actor=ADA)
        assert cluster.secret_name is not None
        await secrets.delete(session, None, cluster.secret_name, actor=ADA)
        check = await registry.ask_check(session, cluster, actor=ADA)
    await Loop(
        store, ChecksReconciler(gateways, connector(), WayBack(NO_ADDRESS)), lease_seconds=30
    ).turn()
    async with store.read() as session:
        (finding,) = (await session.get_one(ClusterCheck, check.id)).findings
    assert not finding["ok"]
    assert "type it again on the cluster's page" in finding["message"]


async def test_a_run_of_a_removed_cluster_is_not_started(
    store: Database, gateways: OpenGateways, tmp_path: Path
) -> None:
    async with FakeRay().serve() as ray:
        cluster = await add(store, "gone", ray)
        (name,) = await queue(store, cluster, 1)
        async with store.write() as session:
            row = await session.get_one(Cluster, cluster.id)
            row.removed_at = row.created_at
        attempts = AttemptsReconciler(
            gateways,
            Packages(store, tmp_path / "home"),
            addresses=NO_ADDRESS,
            runs_dir=tmp_path / "runs",
            poll=POLL,
        )
        await Loop(store, attempts, lease_seconds=30).turn()
        async with store.read() as session:
            run = await runs.get(session, name)
        assert (run.status, ray.jobs) == (RunStatus.FAILED, {})


async def test_a_remote_job_s_log_is_stored_byte_for_byte_while_it_grows(
    store: Database, gateways: OpenGateways, tmp_path: Path
) -> None:
    home, poll = tmp_path / "home", timedelta(0)
    async with FakeRay().serve() as ray:
        cluster = await add(store, "well", ray)
        await look(store, gateways, home)
        (name,) = await queue(store, cluster, 1)
        attempts: Any = AttemptsReconciler(
            gateways,
            Packages(store, home),
            addresses=NO_ADDRESS,
            runs_dir=tmp_path / "runs",
            poll=poll,
        )
        now = 0.0
        logs: Any = LogsReconciler(gateways, home=home, runs_dir=tmp_path / "runs", poll=poll)
        logs._remote = RemoteLogs(gateways, home / "remote-logs", clock=lambda: now)
        loops = [Loop(store, each, lease_seconds=30) for each in (attempts, logs)]

        async def turns(count: int) -> None:
            nonlocal now
            for _ in range(count):
                now += 10
                for loop in loops:
                    await loop.turn()

        job = f"{name}-a1"
        await turns(3)
        ray.logs[job] = b""
        ray.start(job)
        for part in range(4):
            ray.logs[job] += b"".join(
                b"part %d line %d\r\x1b[0m\xff\n" % (part, n) for n in range(900)
            )
            await turns(1)
        await turns(1)
        assert await stored(store, name) == ray.logs[job]
        ray.logs[job] += b"the end, without a line end"
        ray.finish(job)
        async with asyncio.timeout(30):
            while (await status_of(store, name)) is RunStatus.RUNNING:
                await turns(1)
        assert await stored(store, name) == ray.logs[job]
        assert await status_of(store, name) is RunStatus.SUCCEEDED
        assert ray.asked_lines.count(-1) == 1


async def stored(store: Database, name: str) -> bytes:
    async with store.read() as session:
        stream = await log_store.find_stream(session, await runs.get(session, name), 1)
    assert stream is not None
    return b"".join([part async for part in log_store.iter_bytes(store, stream.id)])


async def status_of(store: Database, name: str) -> RunStatus:
    async with store.read() as session:
        return (await runs.get(session, name)).status


async def add(store: Database, name: str, ray: FakeRay) -> Cluster:
    wish = Wish(
        name=name,
        address=ray.address,
        credential="token",
        secret=f"{ray.token}",
        max_running_runs="100",
    )
    async with store.write() as session:
        return await registry.create(session, wish, actor=ADA)


async def look(
    store: Database, gateways: OpenGateways, home: Path, *, again: object = None
) -> None:
    if again is not None:
        async with store.write() as session:
            row = await session.get_one(Cluster, again)
            row.due_at = row.created_at
    reconciler = ClustersReconciler(gateways, home=home, poll=POLL)
    await Loop(store, reconciler, lease_seconds=30).turn()


async def queue(store: Database, cluster: Cluster, count: int) -> list[str]:
    values = {"job.entrypoint": "python train.py"}
    async with store.write() as session:
        project = await projects.ensure_default(session)
        experiment = await experiments.create(
            session,
            project=project,
            name=f"on {cluster.slug}",
            recipe="command",
            config=values,
            actor=ADA,
        )
        made: list[Run] = [
            await runs.create(session, experiment, actor=ADA, cluster=cluster.slug)
            for _ in range(count)
        ]
        return [run.slug for run in made]
