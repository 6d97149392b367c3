"""What comes faster than people do is sent away before anything is looked at."""

import httpx
import pytest
from starlette.responses import PlainTextResponse

from app.users.gate import Buckets, SignInGate
from app.users.passwords import PasswordPool
from app.web.csp import POLICY


def test_a_bucket_gives_a_burst_and_then_its_pace() -> None:
    buckets = Buckets(per_second=2, burst=3)
    assert [buckets.take("a", 0) for _ in range(4)] == [True, True, True, False]
    assert buckets.take("b", 0)
    assert [buckets.take("a", 1) for _ in range(3)] == [True, True, False]
    assert [buckets.take("a", 100) for _ in range(4)] == [True, True, True, False]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def post(gate: SignInGate, address: str, path: str = "/sign-in") -> httpx.Response:
    transport = httpx.ASGITransport(gate, client=(address, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        return await client.post(path, data={"name": "ada"})


async def test_one_address_cannot_shut_the_gate_for_others(clock: Clock) -> None:
    gate = SignInGate(PlainTextResponse("in"), clock)
    seen = [(await post(gate, "192.0.2.1")).status_code for _ in range(60)]
    assert seen == [200] * 20 + [429] * 40
    assert (await post(gate, "192.0.2.2")).status_code == 200
    clock.now = 3
    again = [(await post(gate, "192.0.2.1")).status_code for _ in range(5)]
    assert again == [200] * 3 + [429] * 2


async def test_many_networks_share_what_is_for_all(clock: Clock) -> None:
    gate = SignInGate(PlainTextResponse("in"), clock)
    networks = [f"192.0.2.{number}" for number in range(20)]
    for address in networks * 2:
        assert (await post(gate, address)).status_code == 200
    seen = [(await post(gate, address)).status_code for address in networks * 3]
    assert seen == [200] * 40 + [429] * 20
    clock.now = 1
    again = [(await post(gate, address)).status_code for address in networks[:6]]
    assert again == [200] * 5 + [429]


async def test_floods_of_others_shut_nobody_out(clock: Clock) -> None:
    gate = SignInGate(PlainTextResponse("in"), clock)
    for second in range(60):
        clock.now = second
        for number in range(10):
            await post(gate, f"192.0.2.{number}")
    assert (await post(gate, "192.0.2.1")).status_code == 429
    assert [(await post(gate, "198.51.100.1")).status_code for _ in range(2)] == [200, 200]


async def test_nothing_passes_that_the_full_queue_would_refuse(clock: Clock) -> None:
    pool = PasswordPool(queue_length=1)
    gate = SignInGate(PlainTextResponse("in"), clock, pool)
    with pool.slot():
        assert (await post(gate, "192.0.2.1")).status_code == 429
    assert (await post(gate, "192.0.2.1")).status_code == 200


async def test_an_ipv6_network_is_one_caller(clock: Clock) -> None:
    gate = SignInGate(PlainTextResponse("in"), clock)
    seen = [(await post(gate, f"2001:db8::{number:x}")).status_code for number in range(30)]
    assert seen == [200] * 20 + [429] * 10
    assert (await post(gate, "2001:db8:0:1::1")).status_code == 200


async def test_links_and_looks_always_pass(clock: Clock) -> None:
    gate = SignInGate(PlainTextResponse("in"), clock)
    for _ in range(50):
        await post(gate, "192.0.2.1")
    assert (await post(gate, "192.0.2.1", "/sign-in/link")).status_code == 200
    transport = httpx.ASGITransport(gate, client=("192.0.2.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        assert (await client.get("/sign-in")).status_code == 200


async def test_the_refusal_is_a_page_that_says_what_to_do(clock: Clock) -> None:
    gate = SignInGate(PlainTextResponse("in"), clock)
    answers = [await post(gate, "192.0.2.1") for _ in range(21)]
    refusal = answers[-1]
    assert refusal.status_code == 429
    assert int(refusal.headers["retry-after"]) >= 1
    assert refusal.headers["content-security-policy"] == POLICY
    assert "not counted" in refusal.text
    assert 'action="/sign-in"' in refusal.text
