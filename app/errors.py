"""The error tree. Each error says what happened, what was kept and what to do.

    SkydeckError
    ├── NotFound            404  no such thing, or not yours
    ├── Invalid             422  values that cannot be accepted; holds one Problem per field
    ├── Conflict            409  the thing is not in a state that allows this
    ├── NotSignedIn         401
    ├── Forbidden           403
    ├── TooLarge            413
    ├── TooMany             429  too often; says when to try again
    ├── Unavailable         503  something outside does not answer right now
    └── StartError           -   the program cannot start; the command line prints it

HTTP statuses are used at the edge only (`app.web`, `app.api`).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One refused value: `field` is its dotted key, `rule` a stable id, `message` for people."""

    field: str
    rule: str
    message: str


class SkydeckError(Exception):
    """Base of all errors that people may read."""

    code = "error"
    status = 500

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    @property
    def operator_message(self) -> str:
        """For whoever runs the service: the command line prints it."""
        return self.message


class NotFound(SkydeckError):
    """`is_hidden`: the thing exists, but the caller may not know that."""

    code = "not_found"
    status = 404

    def __init__(self, message: str, *, is_hidden: bool = False) -> None:
        super().__init__(message)
        self.is_hidden = is_hidden


class Invalid(SkydeckError):
    """Values that cannot be accepted."""

    code = "invalid"
    status = 422

    def __init__(self, message: str, problems: list[Problem] | None = None) -> None:
        super().__init__(message)
        self.problems = problems or []


class Conflict(SkydeckError):
    code = "conflict"
    status = 409


class NotSignedIn(SkydeckError):
    code = "not_signed_in"
    status = 401


class Forbidden(SkydeckError):
    code = "forbidden"
    status = 403


class TooLarge(SkydeckError):
    code = "too_large"
    status = 413


class TooMany(SkydeckError):
    """Asked too often. `retry_after_seconds` is a whole number, at least 1."""

    code = "too_many"
    status = 429

    def __init__(self, message: str, *, retry_after_seconds: int) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class Unavailable(SkydeckError):
    code = "unavailable"
    status = 503


class StartError(SkydeckError):
    """The program cannot start. The command line prints the message as one line."""

    code = "start"
