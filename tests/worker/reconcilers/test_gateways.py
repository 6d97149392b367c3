"""Connections follow the embedded head to its new address; old ones are closed, not at once."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.models import ClusterKind
from app.ray.client import RayClient
from app.ray.errors import RayUnreachable
from app.ray.head_state import HeadPhase, HeadState, ray_dir, renew_head_token, write_head_state
from worker.reconcilers.gateways import OpenGateways

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


def get(gateways: OpenGateways) -> RayClient:
    found = gateways.get(ClusterKind.EMBEDDED, "embedded")
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
    gateways = OpenGateways(home)
    assert get(gateways) is get(gateways)
    await gateways.aclose()


async def test_a_left_connection_is_closed_at_the_second_look(home: Path) -> None:
    gateways = OpenGateways(home)
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
    gateways = OpenGateways(home)
    first = get(gateways)
    renew_head_token(home)
    assert get(gateways) is not first
    await gateways.aclose()


async def test_without_a_head_nothing_is_reachable(tmp_path: Path) -> None:
    with pytest.raises(RayUnreachable, match="not been started"):
        OpenGateways(tmp_path).get(ClusterKind.EMBEDDED, "embedded")
