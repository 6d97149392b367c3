"""Keeps secrets out of what the service says about itself.

Two nets: the values that this process has seen decrypted, in all forms of `app.secrets.masking`;
and the shapes of credentials, whoever's they are: bearer tokens, our own tokens, passwords in
addresses, headers that sign in, cookies.
"""

import re
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structlog.typing import EventDict

    from app.secrets.masking import Masker

_MARK = "***"
_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bsky_[A-Za-z0-9_-]{8,}"), "sky_***"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"), r"\1 ***"),
    (re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@'\"]*):[^\s/@'\"]+@"), r"\1:***@"),
    (
        re.compile(
            r"(?i)((?:proxy-)?authorization|set-cookie|cookie|x-api-key|x-amz-security-token)"
            r"(['\"]?\s*[:=,]\s*(?:b(?=['\"]))?['\"]?)[^'\"\r\n]+"
        ),
        r"\1\2***",
    ),
    (
        re.compile(
            r"(?i)([?&](?:token|secret|password|access_token|api_key|x-amz-signature|sig)=)[^&\s'\"]+"
        ),
        r"\1***",
    ),
)
_HINTS = re.compile(r"(?i)sky_|bearer|basic|://|authorization|cookie|x-a|[?&]")
_FIELDS = frozenset(
    {"authorization", "cookie", "set-cookie", "password", "secret", "token", "api_key"}
)

_lock = threading.Lock()
_known: set[tuple[str, str]] = set()
_masker: "Masker | None" = None


def remember(name: str, value: str) -> None:
    """From now on this process writes `***name***` wherever it would write the value."""
    global _masker
    if (name, value) in _known:
        return
    with _lock:
        _known.add((name, value))
        _masker = None


def masked(text: str) -> str:
    """The text without known secrets and without what has the shape of a credential."""
    masker = _current()
    if masker is not None:
        text = masker.text(text)
    if _HINTS.search(text):
        for pattern, instead in _SHAPES:
            text = pattern.sub(instead, text)
    return text


def masked_inside(value: Any) -> Any:
    """The same with all texts in it masked, at any depth; keys stay."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {key: masked_inside(each) for key, each in value.items()}
    if isinstance(value, list):
        return [masked_inside(each) for each in value]
    # A tuple stays one: what is known of an exception comes as such.
    return tuple(masked_inside(each) for each in value) if type(value) is tuple else value


def mask_fields(_logger: object, _method: str, line: "EventDict") -> "EventDict":
    """A processor of structlog: masks all texts of a line, at any depth."""
    return {
        name: _MARK if name.lower() in _FIELDS and value else masked_inside(value)
        for name, value in line.items()
    }


def mask_line(_logger: object, _method: str, line: Any) -> str:
    """A last processor: masks the finished line, tracebacks and what objects say of themselves."""
    return masked(str(line))


def _current() -> "Masker | None":
    global _masker
    if not _known:
        return None
    found = _masker
    if found is None:
        # Imported late: what never sees a secret does without numpy, and so without its memory.
        from app.secrets.masking import Masker

        with _lock:
            found = _masker = Masker(sorted(_known))
    return found
