"""Time that moves only when a test says so."""

from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 29, 12, tzinfo=UTC)


class FakeClock:
    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> datetime:
        self.now += timedelta(seconds=seconds)
        return self.now
