"""What an answer of the API that is an error becomes in the client."""

import httpx

from app.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    NotSignedIn,
    Problem,
    SkydeckError,
    TooLarge,
    Unavailable,
)

_KINDS: tuple[type[SkydeckError], ...] = (
    NotFound,
    Conflict,
    NotSignedIn,
    Forbidden,
    TooLarge,
    Unavailable,
)


def error_of(answer: httpx.Response) -> SkydeckError:
    """`Unavailable` where the answer is none of Skydeck's."""
    try:
        body = answer.json()
        detail = str(body["detail"])
        problems = [Problem(p["field"], p["rule"], p["message"]) for p in body["errors"]]
    except (ValueError, KeyError, TypeError):
        return Unavailable(f"{answer.request.url} answered {answer.status_code} and no reason")
    if added := [_said(p) for p in problems if p.message not in detail]:
        detail += ": " + "; ".join(added)
    if answer.status_code == Invalid.status:
        return Invalid(detail, problems)
    kinds = {kind.status: kind for kind in _KINDS}
    return kinds.get(answer.status_code, SkydeckError)(detail)


def _said(problem: Problem) -> str:
    is_named = problem.message.startswith(problem.field)
    return problem.message if is_named else f"{problem.field}: {problem.message}"
