"""A HyperPod cluster in front of the pretended dashboard, and ways to open it."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from app.ray.address import ClusterAddress
from app.ray.client import RayClient
from app.ray.connect import Connector
from app.ray.target import Target
from tests.fakes.hyperpod import FakeHyperpod
from tests.fakes.ray import FakeRay

Open = Callable[..., RayClient]
ADDRESS = ClusterAddress("skyrl", "team-a")


@pytest.fixture
async def ray() -> AsyncIterator[FakeRay]:
    async with FakeRay(token=None).serve() as served:
        yield served


@pytest.fixture
async def pod(ray: FakeRay) -> AsyncIterator[FakeHyperpod]:
    async with FakeHyperpod(ray.address).serve() as served:
        yield served


@pytest.fixture
async def connect(pod: FakeHyperpod) -> AsyncIterator[Open]:
    """Opens the cluster with a kubeconfig's token unless told otherwise."""
    opened: list[RayClient] = []

    def open_client(**options: Any) -> RayClient:
        parts = {"address": ADDRESS, "credential": pod.point, "ca": pod.ca}
        target = Target(**{name: options.pop(name, value) for name, value in parts.items()})
        connector = Connector(pod.make_client(), session_name="skydeck")
        opened.append(connector.open(target, **options))
        return opened[-1]

    yield open_client
    for client in opened:
        await client.aclose()


@pytest.fixture
def client(connect: Open) -> RayClient:
    return connect()
