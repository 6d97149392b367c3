"""When the use of a session, a token or a link is noted: at most once a minute each.

Otherwise each look would write.
"""

from datetime import datetime, timedelta

_NOTED_EVERY = timedelta(minutes=1)


def noted_before(now: datetime) -> datetime:
    """What was noted after this time need not be noted again."""
    return now - _NOTED_EVERY


def is_due(noted_at: datetime | None, now: datetime) -> bool:
    """Whether a use is to be noted; `noted_at` is when the last one was, None for never."""
    return noted_at is None or noted_at <= noted_before(now)
