"""Times that a reader asks for."""

from datetime import UTC, datetime


def in_range(time: datetime) -> datetime:
    """The time in UTC. Raises `ValueError` for one outside the calendar there."""
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError("give a time between the years 1 and 9999") from None


def parse(text: str) -> datetime:
    """A time as a form sends it, or RFC 3339; without a zone it is UTC. Raises `ValueError`."""
    time = datetime.fromisoformat(text)
    return in_range(time if time.tzinfo is not None else time.replace(tzinfo=UTC))
