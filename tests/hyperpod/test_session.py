"""Signing in to a HyperPod dashboard: two steps, one session, renewed whatever ends it."""

import asyncio
from datetime import timedelta

import pytest

from app.clock import utcnow
from app.k8s.point import EksCluster, FixedKube, KubePoint
from app.ray.address import EndpointAddress
from app.ray.client import RayClient
from app.ray.errors import (
    EndpointNotEnabled,
    NotTheCreator,
    RayClusterNotFound,
    RayError,
    RayNotSignedIn,
    RayUnreachable,
)
from app.ray.hyperpod import COOKIE_LIFE, HyperpodLogin
from tests.fakes import hyperpod
from tests.fakes.hyperpod import FakeHyperpod, SignedOut
from tests.fakes.ray import FakeRay
from tests.hyperpod.conftest import ADDRESS, Open

SIGN_IN = ("GET", "/bearer-auth")


async def test_two_steps_then_plain_rest_with_the_cookie(
    client: RayClient, pod: FakeHyperpod
) -> None:
    await client.submit(submission_id="job", entrypoint="true")
    await client.find_job("job")
    (create,) = [each for each in pod.seen if each.server == "api"]
    assert create.body["metadata"] == {"generateName": "skyrl-", "namespace": "team-a"}
    assert create.body["spec"] == {"clusterName": "skyrl"}
    assert create.secret == hyperpod.KUBE_TOKEN
    assert pod.places().count(SIGN_IN) == 1
    asked = [each for each in pod.seen if each.server == "gateway" and each.place != SIGN_IN]
    assert {each.secret for each in asked} == pod.sessions
    assert ("POST", "/api/jobs/") in pod.places()


async def test_a_dashboard_by_its_host_needs_no_name(connect: Open, pod: FakeHyperpod) -> None:
    client = connect(address=EndpointAddress(pod.gateway_host))
    assert (await client.cluster()).ray_version == "2.60.0"
    (create,) = [each for each in pod.seen if each.server == "api"]
    assert create.body["metadata"] == {"generateName": "endpoint-", "namespace": "default"}
    assert create.body["spec"] == {"endpoint": pod.gateway_host}


@pytest.mark.parametrize("how", list(SignedOut))
async def test_a_session_that_ends_midway_is_renewed_unnoticed(
    pod: FakeHyperpod, how: SignedOut
) -> None:
    client = fresh(pod)
    await client.submit(submission_id="job", entrypoint="sleep 9")
    pod.signed_out = how
    for change in (
        lambda: client.get_job("job"),
        client.list_jobs,
        lambda: client.stop("job"),
        lambda: client.submit(submission_id="job-2", entrypoint="true"),
        lambda: client.has_package(f"_ray_pkg_{'a' * 40}.zip"),
    ):
        pod.expire()
        login_of(client)._made_at -= timedelta(minutes=1)
        await change()
    assert pod.places().count(SIGN_IN) == 6
    await client.aclose()


async def test_many_calls_share_one_new_session(pod: FakeHyperpod) -> None:
    client = fresh(pod)
    await asyncio.gather(*(client.find_job(f"job-{n}") for n in range(40)))
    assert pod.places().count(SIGN_IN) == 1
    pod.expire()
    login_of(client)._made_at -= timedelta(minutes=1)
    await asyncio.gather(*(client.find_job(f"job-{n}") for n in range(40)))
    assert pod.places().count(SIGN_IN) == 2
    await client.aclose()


async def test_a_session_is_renewed_before_its_six_hours_end(pod: FakeHyperpod) -> None:
    now = utcnow()
    http = pod.make_client()(None)
    kube = FixedKube(pod.point)
    login = HyperpodLogin(ADDRESS, kube, http, pod.make_client(), clock=lambda: now)
    first = await login.current()
    now += COOKIE_LIFE - timedelta(seconds=1)
    assert await login.current() is first
    now += timedelta(seconds=1)
    assert await login.current() is not first
    assert timedelta(hours=6) > COOKIE_LIFE
    await http.aclose()


async def test_a_gateway_that_refuses_its_own_session_is_not_asked_again_and_again(
    pod: FakeHyperpod,
) -> None:
    client = fresh(pod)
    await client.cluster()
    pod.expire()
    for _ in range(5):
        with pytest.raises(RayNotSignedIn, match="refuses the session"):
            await client.cluster()
    assert pod.places().count(SIGN_IN) == 1
    await client.aclose()


@pytest.mark.parametrize(
    ("status", "message", "error", "advice"),
    [
        (403, "raydashboardconnections is forbidden", NotTheCreator, "access-strategy-public"),
        (404, 'rayclusters.ray.io "skyrl" not found', RayClusterNotFound, "namespace"),
        (404, "404 page not found", EndpointNotEnabled, "endpoint operator"),
        (
            404,
            "the server could not find the requested resource",
            EndpointNotEnabled,
            "endpoint operator",
        ),
        (500, "etcd is away", RayUnreachable, "tried again by itself"),
        (429, "slow down", RayUnreachable, "tried again by itself"),
        (422, "spec is wrong", RayUnreachable, "spec is wrong"),
    ],
)
async def test_each_refusal_of_kubernetes_says_what_to_do(
    client: RayClient,
    pod: FakeHyperpod,
    status: int,
    message: str,
    error: type[RayError],
    advice: str,
) -> None:
    pod.refuses_kube = (status, message)
    with pytest.raises(error, match=advice):
        await client.cluster()


async def test_an_endpoint_without_an_address_is_not_enabled(
    client: RayClient, pod: FakeHyperpod
) -> None:
    pod.gives_url = False
    with pytest.raises(EndpointNotEnabled, match=r"enabled: \"true\""):
        await client.cluster()


async def test_a_wrong_token_of_kubernetes_is_told(connect: Open, pod: FakeHyperpod) -> None:
    client = connect(credential=KubePoint(pod.api_url, pod.ca, "wrong"))
    with pytest.raises(RayNotSignedIn, match="new credentials"):
        await client.cluster()


async def test_another_authority_than_the_server_s_is_refused(
    connect: Open, pod: FakeHyperpod
) -> None:
    other = FakeHyperpod("http://127.0.0.1:1").ca
    client = connect(credential=KubePoint(pod.api_url, other, hyperpod.KUBE_TOKEN))
    with pytest.raises(RayUnreachable, match="certificate"):
        await client.cluster()
    client = connect(ca=other)
    with pytest.raises(RayUnreachable, match="certificate"):
        await client.cluster()


async def test_hosts_that_no_administrator_allowed_are_not_called(pod: FakeHyperpod) -> None:
    make_client = pod.make_client("10.0.0.0/8")
    http = make_client(None)
    login = HyperpodLogin(ADDRESS, FixedKube(pod.point), http, make_client)
    with pytest.raises(RayUnreachable, match="Outgoing hosts"):
        await login.current()
    assert pod.seen == []
    await http.aclose()


async def test_cut_connections_lose_no_job_and_make_no_second_one(
    client: RayClient, pod: FakeHyperpod, ray: FakeRay
) -> None:
    await client.cluster()
    pod.cuts = 1
    with pytest.raises(RayUnreachable):
        await client.submit(submission_id="job", entrypoint="true")
    assert ray.jobs == {}
    pod.cuts, pod.cuts_late = 1, True
    job = await client.submit(submission_id="job", entrypoint="true")
    assert job.submission_id == "job"
    assert pod.places().count(("POST", "/api/jobs/")) == 2
    assert list(ray.jobs) == ["job"]


async def test_a_cancelled_caller_leaves_the_sign_in_to_the_others(pod: FakeHyperpod) -> None:
    client = fresh(pod)
    first = asyncio.create_task(client.cluster())
    second = asyncio.create_task(client.list_jobs())
    await asyncio.sleep(0)
    first.cancel()
    assert await second == []
    await client.aclose()


@pytest.mark.parametrize("key", [hyperpod.ACCESS_KEY])
async def test_aws_keys_and_a_role_open_the_cluster(
    connect: Open, pod: FakeHyperpod, key: str
) -> None:
    keys = EksCluster(
        hyperpod.EKS_NAME, hyperpod.REGION, hyperpod.ROLE_ARN, key, hyperpod.SECRET_KEY
    )
    client = connect(credential=keys)
    assert (await client.cluster()).ray_version == "2.60.0"
    assert pod.assumed == ["skydeck"]
    assert [each.place for each in pod.seen if each.server == "aws"] == [
        ("POST", "/"),
        ("GET", f"/clusters/{hyperpod.EKS_NAME}"),
    ]


@pytest.mark.parametrize(
    ("role", "name", "said"),
    [
        ("arn:aws:iam::123456789012:role/other", hyperpod.EKS_NAME, "not authorized to perform"),
        ("", "unknown-eks", "No cluster found for name"),
    ],
)
async def test_what_aws_refuses_is_told_in_its_words(
    connect: Open, role: str, name: str, said: str
) -> None:
    keys = EksCluster(name, hyperpod.REGION, role, hyperpod.ACCESS_KEY, hyperpod.SECRET_KEY)
    with pytest.raises(RayNotSignedIn, match=said):
        await connect(credential=keys).cluster()


def fresh(pod: FakeHyperpod) -> RayClient:
    make_client = pod.make_client()
    http = make_client(None)
    login = HyperpodLogin(ADDRESS, FixedKube(pod.point), http, make_client)
    return RayClient(login, http)


def login_of(client: RayClient) -> HyperpodLogin:
    login = client._logins
    assert isinstance(login, HyperpodLogin)
    return login


def test_no_secret_is_shown_by_what_holds_it() -> None:
    keys = EksCluster("c", "us-west-2", "", "AKIA", "s3cret-value")
    assert "s3cret-value" not in repr(keys)
    assert "s3cret-value" not in repr(KubePoint("https://x", "", "s3cret-value"))
