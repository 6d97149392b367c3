"""Hashes and verifies passwords beside the event loop, and never more than a few at a time.

Argon2id with 19 MiB, two passes and one lane: the first of OWASP's equal choices (cheat sheet on
password storage) that takes the least memory, since pages are served by the same machine. Of
RFC 9106 it keeps the variant, the 16 bytes of salt and the 32 bytes of hash.
"""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from app.errors import TooMany
from app.users.rules import normalised

T = TypeVar("T")
QUEUE_LENGTH = 8
RETRY_SECONDS = 2
_NICENESS = 5
_REST = 2
_HASHER = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1, hash_len=32, salt_len=16)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a password is right; `new_hash` is set where the stored one has old parameters."""

    is_right: bool
    new_hash: str | None = None


class PasswordPool:
    """One thread that hashes, and a short queue before it: what does not fit is refused at once.

    Between two hashes it rests twice as long as it worked. So a flood of guesses takes a third of
    a core at the most, and that only when pages leave it idle; one person never waits.
    """

    def __init__(self, hasher: PasswordHasher = _HASHER, *, queue_length: int = QUEUE_LENGTH):
        self._hasher = hasher
        self._free = threading.BoundedSemaphore(queue_length)
        self._threads = ThreadPoolExecutor(
            1, thread_name_prefix="passwords", initializer=self._prepare
        )
        self._dummy = ""
        self._rest_until = 0.0

    @contextmanager
    def slot(self) -> Iterator["Slot"]:
        """A place in the queue. Raises `TooMany` if there is none; then nothing was counted."""
        if not self._free.acquire(blocking=False):
            raise TooMany(
                "too many people sign in right now; nothing was changed; try again in a moment",
                retry_after_seconds=RETRY_SECONDS,
            )
        try:
            yield Slot(self)
        finally:
            self._free.release()

    def is_full(self) -> bool:
        """Whether `slot` would refuse just now."""
        if self._free.acquire(blocking=False):
            self._free.release()
            return False
        return True

    def hash_now(self, password: str) -> str:
        """For programs that serve nobody meanwhile."""
        return self._hasher.hash(normalised(password))

    def verify_now(self, stored: str | None, password: str) -> Verdict:
        """Takes as long for None, somebody without a password, as for a wrong password."""
        try:
            self._hasher.verify(stored or self._dummy, normalised(password))
        except (VerifyMismatchError, InvalidHashError):
            return Verdict(False)
        if stored is None:
            return Verdict(False)
        is_old = self._hasher.check_needs_rehash(stored)
        return Verdict(True, self.hash_now(password) if is_old else None)

    def submit(self, work: Callable[..., T], *arguments: object) -> "Future[T]":
        return self._threads.submit(self._rested, work, *arguments)

    def _rested(self, work: Callable[..., T], *arguments: object) -> T:
        time.sleep(max(self._rest_until - time.monotonic(), 0))
        started = time.monotonic()
        try:
            return work(*arguments)
        finally:
            ended = time.monotonic()
            self._rest_until = ended + _REST * (ended - started)

    def _prepare(self) -> None:
        self._dummy = self._hasher.hash(os.urandom(32))
        if hasattr(os, "setpriority"):
            # On Linux this is the thread's own: pages and the database go first.
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


class Slot:
    """A place in the queue of a `PasswordPool`, for any number of calls one after the other."""

    def __init__(self, pool: PasswordPool) -> None:
        self._pool = pool

    async def hash(self, password: str) -> str:
        """Argon2's text of a new password, with its parameters and salt."""
        return await asyncio.wrap_future(self._pool.submit(self._pool.hash_now, password))

    async def verify(self, stored: str | None, password: str) -> Verdict:
        """Compares in constant time; None stands for somebody who has no password."""
        work = self._pool.verify_now
        return await asyncio.wrap_future(self._pool.submit(work, stored, password))


async def hash_password(password: str) -> str:
    """Argon2's text of a new password. Raises `TooMany` when the queue is full."""
    with POOL.slot() as slot:
        return await slot.hash(password)


POOL = PasswordPool()
"""The pool of this process."""
