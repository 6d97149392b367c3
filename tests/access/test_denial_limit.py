"""How many rows a denied caller can leave."""

import pytest

from app.access import denial_limit
from app.access.denial_limit import (
    MINUTE_SECONDS,
    REPEAT_SECONDS,
    ROWS_A_MINUTE,
    DenialLimit,
    Noted,
)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_the_same_request_is_noted_once_an_hour(clock: Clock) -> None:
    limit = DenialLimit(clock)
    assert limit.take("ada", "GET /a") is Noted.YES
    clock.now = REPEAT_SECONDS - 1
    assert limit.take("ada", "GET /a") is Noted.NO
    assert limit.take("ada", "GET /b") is Noted.YES
    assert limit.take("bob", "GET /a") is Noted.YES
    clock.now = REPEAT_SECONDS
    assert limit.take("ada", "GET /a") is Noted.YES


def test_other_requests_of_a_minute_end_with_a_last_row(clock: Clock) -> None:
    limit = DenialLimit(clock)
    seen = [limit.take("ada", number) for number in range(ROWS_A_MINUTE + 5)]
    assert seen == [Noted.YES] * ROWS_A_MINUTE + [Noted.LAST] + [Noted.NO] * 4
    assert limit.take("bob", 0) is Noted.YES
    clock.now = MINUTE_SECONDS
    assert limit.take("ada", ROWS_A_MINUTE) is Noted.YES
    assert limit.take("ada", 0) is Noted.NO


def test_the_tables_do_not_grow(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(denial_limit, "_MOST_REQUESTS", 3)
    monkeypatch.setattr(denial_limit, "_MOST_ACTORS", 3)
    limit = DenialLimit(clock)
    assert {limit.take(f"user {number}", 0) for number in range(4)} == {Noted.YES}
    assert limit.take("user 3", 0) is Noted.NO
    assert limit.take("user 0", 0) is Noted.YES
