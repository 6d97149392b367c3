"""Connections follow the embedded head to its new address; old ones are closed, not at once."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.clusters.registry import ClusterAccess
from app.ids import new_id
from app.models import ClusterKind
from app.ray.address import HttpAddress
from app.ray.client import RayClient
from app.ray.errors import RayNotSignedIn, RayUnreachable
from app.ray.head_state import HeadPhase, HeadState, ray_dir, renew_head_token, write_head_state
from app.ray.target import Target
from tests.fakes.connector import connector
from worker.reconcilers.gateways import OpenGateways

EMBEDDED = ClusterAccess(new_id(), ClusterKind.EMBEDDED, "embedded")
STATE = HeadState(
    phase=HeadPhase.READY,
    message="ready",
    marker="m",
    address="http://127.0.0.1:1",
    agent_address="http://127.0.0.2:2",
    temp_dir=Path("/tmp/none"),
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    ray_dir(tmp_path).mkdir()
    write_head_state(tmp_path, STATE)
    renew_head_token(tmp_path)
    return tmp_path


def registered(url: str) -> ClusterAccess:
    target = Target(HttpAddress(url), "token")
    return ClusterAccess(new_id(), ClusterKind.HTTP, url, target)


def get(gateways: OpenGateways) -> RayClient:
    found = gateways.get(EMBEDDED)
    assert isinstance(found, RayClient)
    return found


async def is_closed(client: RayClient) -> bool:
    """A closed connection raises at once, an open one finds nobody listening."""
    try:
        await client.find_job("job")
    except RuntimeError:
        return True
    except RayUnreachable:
        return False
    raise AssertionError


async def test_the_same_head_keeps_its_connection(home: Path) -> None:
    gateways = OpenGateways(home, connector())
    assert get(gateways) is get(gateways)
    await gateways.aclose()


async def test_a_left_connection_is_closed_at_the_second_look(home: Path) -> None:
    gateways = OpenGateways(home, connector())
    first = get(gateways)
    write_head_state(home, replace(STATE, address="http://127.0.0.1:3"))
    second = get(gateways)
    assert (first.address, second.address) == ("http://127.0.0.1:1", "http://127.0.0.1:3")
    await gateways.close_old()
    assert not await is_closed(first)
    await gateways.close_old()
    assert await is_closed(first)
    assert not await is_closed(second)
    await gateways.aclose()
    assert await is_closed(second)


async def test_a_new_token_is_a_new_connection(home: Path) -> None:
    gateways = OpenGateways(home, connector())
    first = get(gateways)
    renew_head_token(home)
    assert get(gateways) is not first
    await gateways.aclose()


async def test_each_registered_cluster_has_a_connection_until_nobody_asks_for_it(
    tmp_path: Path,
) -> None:
    gateways = OpenGateways(tmp_path, connector())
    here, there = registered("http://127.0.0.1:1"), registered("http://127.0.0.1:2")
    first, other = gateways.get(here), gateways.get(there)
    assert first is gateways.get(here)
    assert first is not other
    await gateways.close_old()
    assert gateways.get(here) is first
    for _ in range(3):
        await gateways.close_old()
    assert gateways.get(here) is not first
    await gateways.aclose()


async def test_a_changed_credential_is_a_new_connection(tmp_path: Path) -> None:
    gateways = OpenGateways(tmp_path, connector())
    here = registered("http://127.0.0.1:1")
    first = gateways.get(here)
    changed = replace(here, target=Target(HttpAddress(here.address), "another"))
    assert gateways.get(changed) is not first
    await gateways.aclose()


async def test_a_credential_that_is_lost_is_told(tmp_path: Path) -> None:
    lost = replace(registered("http://127.0.0.1:1"), target=None, trouble="it is gone: type it")
    with pytest.raises(RayNotSignedIn, match="type it"):
        OpenGateways(tmp_path, connector()).get(lost)


async def test_without_a_head_nothing_is_reachable(tmp_path: Path) -> None:
    with pytest.raises(RayUnreachable, match="not been started"):
        OpenGateways(tmp_path, connector()).get(EMBEDDED)
