"""The hash: what is stored, when it is made anew, and how many wait for it."""

import asyncio
import statistics
import threading
import time

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.low_level import Type

from app.errors import TooMany
from app.users.passwords import POOL, PasswordPool
from tests.users.people import PASSWORD, QUICK


def test_the_parameters_are_those_that_are_recommended() -> None:
    found = extract_parameters(POOL.hash_now(PASSWORD))
    assert found.type is Type.ID
    assert (found.memory_cost, found.time_cost, found.parallelism) == (19 * 1024, 2, 1)
    assert (found.salt_len, found.hash_len) == (16, 32)


async def test_a_password_is_right_or_wrong() -> None:
    with QUICK.slot() as slot:
        stored = await slot.hash("caf\u00e9 au lait, two")
        assert (await slot.verify(stored, "cafe\u0301 au lait, two")).is_right
        assert not (await slot.verify(stored, "caf\u00e9 au lait, three")).is_right
        assert not (await slot.verify(None, "")).is_right
        assert not (await slot.verify("no hash at all", "caf\u00e9")).is_right


async def test_two_people_with_one_password_have_two_hashes() -> None:
    with QUICK.slot() as slot:
        assert await slot.hash(PASSWORD) != await slot.hash(PASSWORD)


async def test_old_parameters_give_a_new_hash() -> None:
    old = PasswordHasher(time_cost=1, memory_cost=16, parallelism=1).hash(PASSWORD)
    with QUICK.slot() as slot:
        verdict = await slot.verify(old, PASSWORD)
        assert verdict.is_right
        assert verdict.new_hash is not None
        again = await slot.verify(verdict.new_hash, PASSWORD)
    assert (again.is_right, again.new_hash) == (True, None)


async def test_what_does_not_fit_into_the_queue_is_refused_at_once() -> None:
    pool = PasswordPool(QUICK._hasher, queue_length=2)
    with pool.slot(), pool.slot():
        with pytest.raises(TooMany) as refused, pool.slot():
            pass
        assert refused.value.retry_after_seconds >= 1
    with pool.slot() as slot:
        assert await slot.hash(PASSWORD)


async def test_hashing_leaves_the_event_loop_alone() -> None:
    names: set[str] = set()
    pool = PasswordPool()
    pool.submit(lambda: names.add(threading.current_thread().name)).result()
    with pool.slot() as slot:
        beats = 0
        work = asyncio.ensure_future(slot.hash(PASSWORD))
        while not work.done():
            await asyncio.sleep(0)
            beats += 1
    assert beats > 10
    assert names
    assert threading.main_thread().name not in names


def test_nobody_takes_as_long_as_a_wrong_password() -> None:
    stored = POOL.hash_now(PASSWORD)
    # Its thread prepares what nobody is compared with.
    POOL.submit(int).result()
    taken: dict[str | None, list[float]] = {stored: [], None: []}
    for _ in range(7):
        for each in taken:
            started = time.process_time()
            assert not POOL.verify_now(each, "a wrong password").is_right
            taken[each].append(time.process_time() - started)
    wrong, nobody = (statistics.median(each) for each in taken.values())
    assert 0.5 < nobody / wrong < 2
