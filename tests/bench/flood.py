"""A process that guesses passwords: `python -m tests.bench.flood URL PER_SECOND KIND`.

Prints one line when the first answers are there, and at its end, on SIGTERM, a count of the
answers by status as JSON, 0 for those that never came. It keeps its pace whatever the answers
take; SIGSTOP and SIGCONT halt it and let it go on.
"""

import asyncio
import itertools
import json
import signal
import sys
from collections import Counter
from enum import StrEnum

import httpx

NO_ANSWER = 0
_ADDRESSES = 200


class Kind(StrEnum):
    """Whom the guesses name, and where they come from."""

    ONE_NAME = "one-name"
    MANY_NAMES = "many-names"
    MANY_ADDRESSES = "many-names-and-addresses"


async def flood(url: str, per_second: float, kind: Kind) -> Counter[int]:
    """Guesses until SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    count = _ADDRESSES if kind is Kind.MANY_ADDRESSES else 1
    clients = [_client(url, number, is_alone=count == 1) for number in range(count)]
    answers: Counter[int] = Counter()
    tasks: set[asyncio.Task[None]] = set()
    due = loop.time()
    for number in itertools.count():
        # What was missed, as while it was halted, is not made up for in a burst.
        due = max(due + 1 / per_second, loop.time())
        await asyncio.sleep(max(due - loop.time(), 0))
        if stop.is_set():
            break
        name = "ada" if kind is Kind.ONE_NAME else f"user {number}"
        task = asyncio.create_task(_guess(clients[number % count], name, answers))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks, return_exceptions=True)
    for client in clients:
        await client.aclose()
    return answers


def _client(url: str, number: int, *, is_alone: bool) -> httpx.AsyncClient:
    address = "127.0.0.1" if is_alone else f"127.0.{1 + number // 200}.{1 + number % 200}"
    transport = httpx.AsyncHTTPTransport(local_address=address)
    return httpx.AsyncClient(transport=transport, base_url=url, trust_env=False, timeout=30)


async def _guess(client: httpx.AsyncClient, name: str, answers: Counter[int]) -> None:
    form = {"name": name, "password": "a wrong password"}
    try:
        answers[(await client.post("/sign-in", data=form)).status_code] += 1
    except httpx.TransportError:
        answers[NO_ANSWER] += 1
    if answers.total() == 1:
        sys.stdout.write("flooding\n")
        sys.stdout.flush()


if __name__ == "__main__":
    counted = asyncio.run(flood(sys.argv[1], float(sys.argv[2]), Kind(sys.argv[3])))
    sys.stdout.write(json.dumps(counted) + "\n")
