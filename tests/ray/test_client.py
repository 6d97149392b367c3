"""The real client, over a real socket, against the fake dashboard."""

from collections.abc import AsyncIterator
from functools import partial

import httpx
import pytest

from app.ray.client import RayClient
from app.ray.errors import (
    JobIdTaken,
    JobNotFound,
    RayNotSignedIn,
    RayRefused,
    RayUnreachable,
    RayVersionTooOld,
)
from app.ray.gateway import JobStatus, RayGateway
from tests.fakes.ray import NODE_ID, FakeRay


@pytest.fixture
async def fake() -> AsyncIterator[FakeRay]:
    async with FakeRay().serve() as served:
        yield served


@pytest.fixture
async def client(fake: FakeRay) -> AsyncIterator[RayGateway]:
    opened = RayClient.embedded(fake.address, token="secret-t0ken")
    yield opened
    await opened.aclose()


async def test_a_job_is_submitted_with_its_environment(fake: FakeRay, client: RayGateway) -> None:
    job = await client.submit(
        submission_id="run-1-a1",
        entrypoint="true",
        env_vars={"RAY_DEDUP_LOGS": "0"},
        metadata={"run": "run-1"},
    )
    assert job.status is JobStatus.PENDING
    assert job.metadata == {"run": "run-1"}
    assert fake.jobs["run-1-a1"]["runtime_env"]["env_vars"] == {"RAY_DEDUP_LOGS": "0"}


async def test_a_package_is_uploaded_once_and_given_to_a_job(
    fake: FakeRay, client: RayGateway
) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"x" * 100_000

    name = f"_ray_pkg_{'a' * 40}.zip"
    assert await client.has_package(name) is False
    await client.put_package(name, pieces(), size_bytes=300_000)
    assert await client.has_package(name) is True
    assert fake.packages == {name: b"x" * 300_000}
    await client.submit(submission_id="job", entrypoint="true", package=name)
    assert fake.jobs["job"]["runtime_env"] == {"working_dir": f"gcs://{name}"}
    fake.most_bytes = 10
    with pytest.raises(RayRefused, match="300,000 bytes is too large"):
        await client.put_package(name, pieces(), size_bytes=300_000)
    fake.failing = {"PUT", "GET"}
    with pytest.raises(RayUnreachable):
        await client.put_package(name, pieces(), size_bytes=300_000)
    with pytest.raises(RayUnreachable):
        await client.has_package(name)
    with pytest.raises(ValueError, match="not a package"):
        await client.has_package("../jobs/job")


async def test_the_environment_cannot_change_the_address(
    client: RayGateway, fake: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAY_ADDRESS", "RAY_API_SERVER_ADDRESS", "HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of-another-cluster")
    await client.submit(submission_id="job", entrypoint="true")
    assert "job" in fake.jobs


async def test_submitting_again_finds_the_same_job(client: RayGateway, fake: FakeRay) -> None:
    await client.submit(submission_id="job", entrypoint="true")
    fake.start("job")
    again = await client.submit(submission_id="job", entrypoint="true")
    assert again.status is JobStatus.RUNNING


async def test_an_id_of_another_job_is_refused(client: RayGateway) -> None:
    await client.submit(submission_id="job", entrypoint="true")
    with pytest.raises(JobIdTaken, match="new id"):
        await client.submit(submission_id="job", entrypoint="false")


async def test_a_submit_without_answer_finds_the_job_it_made(fake: FakeRay) -> None:
    fake.hold_submits = True
    client = RayClient.embedded(fake.address, token="secret-t0ken", change_seconds=0.3)
    job = await client.submit(submission_id="job", entrypoint="true")
    assert job.status is JobStatus.PENDING
    await client.aclose()


async def test_a_cluster_that_does_not_listen_is_unreachable() -> None:
    client = RayClient.embedded("http://127.0.0.1:1", token="secret-t0ken")
    with pytest.raises(RayUnreachable, match="does not answer"):
        await client.submit(submission_id="job", entrypoint="true")
    with pytest.raises(RayUnreachable, match="does not answer"):
        await client.cluster()
    await client.aclose()


@pytest.mark.parametrize("token", [None, "wrong"])
async def test_the_token_is_needed_for_reads_and_changes(fake: FakeRay, token: str | None) -> None:
    client = RayClient.embedded(fake.address, token=token)
    with pytest.raises(RayNotSignedIn):
        await client.cluster()
    with pytest.raises(RayNotSignedIn):
        await client.submit(submission_id="job", entrypoint="true")
    assert fake.jobs == {}
    await client.aclose()


@pytest.mark.parametrize("bad", ["", "a/b", "Upper", "-a", "a" * 64, "a\n", "ä"])
async def test_bad_ids_never_leave_us(client: RayGateway, fake: FakeRay, bad: str) -> None:
    with pytest.raises(ValueError, match="not a submission id"):
        await client.submit(submission_id=bad, entrypoint="true")
    assert fake.requests == []


async def test_trouble_on_a_read_refuses_nothing(client: RayGateway, fake: FakeRay) -> None:
    fake.failing = {"GET"}
    for read in (client.cluster, client.nodes, partial(client.find_job, "job")):
        with pytest.raises(RayUnreachable, match="error 503: RuntimeError: no GCS"):
            await read()


async def test_a_refused_submit_is_none_while_an_earlier_one_is_running(
    client: RayGateway, fake: FakeRay
) -> None:
    await client.submit(submission_id="job", entrypoint="true")
    fake.failing = {"POST"}
    found = await client.submit(submission_id="job", entrypoint="true")
    assert found.submission_id == "job"
    with pytest.raises(RayRefused, match="no GCS"):
        await client.submit(submission_id="other", entrypoint="true")
    fake.failing = {"POST", "GET"}
    with pytest.raises(RayUnreachable):
        await client.submit(submission_id="other", entrypoint="true")


async def test_a_refusal_tells_rays_last_line(client: RayGateway) -> None:
    await client.submit(submission_id="job", entrypoint="true")
    with pytest.raises(RayRefused, match="non-terminal state PENDING") as caught:
        await client.delete("job")
    assert "Traceback" not in caught.value.message


async def test_times_node_and_exit_code_are_read(client: RayGateway, fake: FakeRay) -> None:
    await client.submit(submission_id="job", entrypoint="true")
    fake.start("job")
    fake.finish("job", "FAILED", driver_exit_code=137, error_type="JOB_ENTRYPOINT_COMMAND_ERROR")
    job = await client.get_job("job")
    assert job.status.is_final
    assert job.driver_exit_code == 137
    assert job.driver_node_id == NODE_ID
    assert job.started_at is not None
    assert job.ended_at is not None
    assert (job.ended_at - job.started_at).total_seconds() == 1
    assert job.ended_at.utcoffset() is not None


async def test_stop_of_a_pending_job_does_nothing(client: RayGateway, fake: FakeRay) -> None:
    await client.submit(submission_id="job", entrypoint="true")
    assert await client.stop("job") is True
    assert (await client.get_job("job")).status is JobStatus.PENDING
    fake.start("job")
    assert await client.stop("job") is True
    assert (await client.get_job("job")).status is JobStatus.STOPPED
    assert await client.stop("job") is False


async def test_a_missing_job_is_told_apart(client: RayGateway) -> None:
    assert await client.find_job("job") is None
    with pytest.raises(JobNotFound, match="restarted"):
        await client.get_job("job")
    with pytest.raises(JobNotFound):
        await client.stop("job")
    await client.delete("job")


async def test_a_restarted_head_has_another_session(client: RayGateway, fake: FakeRay) -> None:
    before = await client.cluster()
    fake.restart()
    after = await client.cluster()
    assert before.session_name != after.session_name
    assert after.session_dir is not None
    assert after.session_dir.name == after.session_name


async def test_nodes_are_read(client: RayGateway) -> None:
    [node] = await client.nodes()
    assert (node.is_head, node.is_alive, node.cpu_count, node.gpu_count) == (True, True, 2.0, 0.0)
    assert (node.memory_total_bytes, node.memory_used_bytes) == (8_000, 2_000)


async def test_an_old_ray_is_refused(client: RayGateway, fake: FakeRay) -> None:
    fake.version = "2.7.1"
    with pytest.raises(RayVersionTooOld, match=r"2\.7\.1"):
        await client.cluster()


async def test_the_fake_refuses_browsers_as_ray_does(fake: FakeRay) -> None:
    headers = {"Authorization": "Bearer secret-t0ken", "Origin": "http://127.0.0.1"}
    async with httpx.AsyncClient() as http:
        answer = await http.post(f"{fake.address}/api/jobs/", json={}, headers=headers)
    assert answer.status_code == 405
