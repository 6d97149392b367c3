"""A cluster that hangs or fails takes nobody else's time."""

import asyncio

import pytest

from app.ray.circuit import Circuit, Places
from app.ray.errors import JobNotFound, RayBusy, RayUnreachable


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def circuit(time: Time) -> Circuit:
    return Circuit(clock=time, jitter=lambda: 0.5)


async def fail(circuit: Circuit, cause: str = "hung") -> None:
    async with circuit.call():
        raise RayUnreachable("x", cause)


async def passes(circuit: Circuit) -> bool:
    try:
        async with circuit.call():
            return True
    except RayUnreachable:
        return False


async def test_after_a_failure_nothing_is_asked_until_the_pause_is_over() -> None:
    time = Time()
    opened = circuit(time)
    with pytest.raises(RayUnreachable):
        await fail(opened, "first")
    with pytest.raises(RayUnreachable, match="first"):
        await fail(opened, "second")
    time.now += 1.01
    assert await passes(opened)
    assert await passes(opened)


async def test_pauses_double_up_to_a_minute_and_begin_anew_after_an_answer() -> None:
    time = Time()
    opened = circuit(time)
    pauses = []
    for _ in range(9):
        with pytest.raises(RayUnreachable):
            await fail(opened)
        start = time.now
        while not time.now > opened._closed_until:
            time.now += 0.25
        pauses.append(time.now - start)
    assert pauses[0] < 1.5
    assert pauses == sorted(pauses)
    assert 60 <= pauses[-1] < 61
    assert await passes(opened)
    with pytest.raises(RayUnreachable):
        await fail(opened)
    assert opened._closed_until - time.now == pytest.approx(1.0)


async def test_one_call_tries_while_the_others_get_the_last_failure() -> None:
    time = Time()
    opened = circuit(time)
    with pytest.raises(RayUnreachable):
        await fail(opened)
    time.now += 2
    async with opened.call():
        assert not await passes(opened)
    assert await passes(opened)


async def test_a_refusal_is_an_answer_and_a_full_queue_is_no_failure() -> None:
    time = Time()
    opened = circuit(time)
    with pytest.raises(JobNotFound):
        async with opened.call():
            raise JobNotFound("job")
    with pytest.raises(RayBusy):
        async with opened.call():
            raise RayBusy("x")
    assert await passes(opened)


async def test_a_cancelled_trial_leaves_the_next_call_to_try() -> None:
    time = Time()
    opened = circuit(time)
    with pytest.raises(RayUnreachable):
        await fail(opened)
    time.now += 2
    with pytest.raises(asyncio.CancelledError):
        async with opened.call():
            raise asyncio.CancelledError
    assert await passes(opened)


async def test_a_place_is_waited_for_and_given_back() -> None:
    places = Places("x", 2, hung_seconds=0.05)
    async with places.one(), places.one():
        with pytest.raises(RayBusy, match="busy with earlier calls"):
            async with places.one():
                raise AssertionError
    async with places.one():
        first = asyncio.create_task(hold(places))
        await asyncio.sleep(0)
        second = asyncio.create_task(hold(places))
        await asyncio.gather(first, second)
    async with places.one(), places.one():
        pass


async def hold(places: Places) -> None:
    async with places.one():
        await asyncio.sleep(0.001)
