"""How long to wait before the next try, by tenacity's rules where its own loop does not fit."""

from tenacity import RetryCallState, Retrying
from tenacity.wait import wait_base


def seconds_before(wait: wait_base, *, failures: int) -> float:
    """What `wait` says after so many failures in a row, at least 1."""
    state = RetryCallState(Retrying(), fn=None, args=(), kwargs={})
    state.attempt_number = failures
    return wait(state)
