"""What refusing a guess costs a real web process, as a share of what a page costs it."""

from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
import pytest

from app.db import Database
from app.errors import NotSignedIn, TooMany
from app.users import service
from app.users.service.throttle import NAME_LIMIT
from app.web.deps import SESSION_COOKIE
from tests.bench.bench_sign_in import serving
from tests.queries import QueryCounter
from tests.users.people import HOME, NOW, QUICK

COUNT = 40


def cpu_seconds(process: psutil.Process, act: Callable[[], httpx.Response], status: int) -> float:
    """CPU of the process for one call on average: waiting for a busy machine does not count."""
    before = sum(process.cpu_times()[:2])
    assert {act().status_code for _ in range(COUNT)} == {status}
    return float(sum(process.cpu_times()[:2]) - before) / COUNT


@pytest.mark.slow
def test_a_refused_guess_costs_a_fraction_of_a_page(tmp_path: Path) -> None:
    with serving(tmp_path / "home") as site:
        [server] = [
            each for each in psutil.Process().children() if "app.up.serve" in each.cmdline()
        ]
        cookies = {SESSION_COOKIE: site.secret}
        with (
            httpx.Client(base_url=site.url, trust_env=False, timeout=60) as guesser,
            httpx.Client(base_url=site.url, cookies=cookies, trust_env=False, timeout=60) as person,
        ):
            form = {"name": "ada", "password": "a wrong password"}
            while guesser.post("/sign-in", data=form).status_code == 401:
                pass
            page = cpu_seconds(server, lambda: person.get("/runs"), 200)
            refusal = cpu_seconds(server, lambda: guesser.post("/sign-in", data=form), 429)
    assert refusal < page / 2


async def test_a_flood_of_one_name_asks_the_database_nothing(
    database: Database, count_queries: QueryCounter
) -> None:
    async def guess() -> None:
        await service.sign_in_with_password(
            database, "ada", "wrong", device=HOME, now=NOW, pool=QUICK
        )

    for _ in range(NAME_LIMIT):
        with pytest.raises(NotSignedIn):
            await guess()
    with pytest.raises(TooMany):
        await guess()
    with count_queries(database) as counted:
        for _ in range(COUNT):
            with pytest.raises(TooMany):
                await guess()
    assert counted.statements == []
