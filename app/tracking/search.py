"""MLflow's `filter` and `order_by`, in our filter language and orders. Pure."""

import re

from app.errors import Invalid, Problem
from app.runs.filter_language import quoted

_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_CONDITION = re.compile(
    r"""\s*(?:(?P<kind>metrics?|params?|parameters?|tags?|attributes?|attr|run)\.)?
    (?P<key>`[^`]+`|"[^"]+"|[\w./-]+)\s*
    (?P<operator>=|!=|<=|>=|<|>|ILIKE|LIKE)\s*(?P<value>'[^']*'|"[^"]*"|[^\s'"]+)\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_ORDER = re.compile(
    r"""\s*(?:(?P<kind>metrics?|params?|attributes?|attr|run)\.)?
    (?P<key>`[^`]+`|"[^"]+"|[\w./-]+)(?:\s+(?P<way>ASC|DESC))?\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_ATTRIBUTES = {
    "run_id": "id",
    "run_name": "name",
    "status": "status",
    "user_id": "owner",
    "start_time": "started_at",
    "end_time": "ended_at",
    "created": "created_at",
}
_ALIASES = {"mlflow.runName": "name", "mlflow.user": "owner"}
_STATUSES = {
    "FINISHED": "(succeeded)",
    "FAILED": "(failed, lost)",
    "KILLED": "(stopped)",
    "RUNNING": "(running, stopping, waiting_retry)",
    "SCHEDULED": "(queued, submitting, pending)",
}


def filter_of(text: str) -> str:
    """Raises `Invalid` for what has no counterpart here."""
    return " and ".join(_condition(part) for part in _split(text)) if text.strip() else ""


def order_of(texts: list[str]) -> str:
    """The first of MLflow's orders; the newest first where there is none."""
    if not texts:
        return "-created_at"
    found = _ORDER.fullmatch(texts[0])
    if found is None:
        raise _unknown("order_by", texts[0])
    kind, key = _kind(found["kind"]), _plain(found["key"])
    sign = "-" if (found["way"] or "ASC").upper() == "DESC" else ""
    if kind == "metric":
        return f"{sign}metric:{key}:last"
    if kind == "param":
        return f"{sign}config:{key}"
    if key not in _ATTRIBUTES or key == "run_id":
        raise _unknown("order_by", texts[0])
    return sign + ("created_at" if key == "start_time" else _ATTRIBUTES[key])


def _split(text: str) -> list[str]:
    """At each `and` that is in no quotes."""
    parts, start = [], 0
    for found in _AND.finditer(text):
        before = text[start : found.start()]
        if all(before.count(quote) % 2 == 0 for quote in "'\"`"):
            parts.append(before)
            start = found.end()
    return [*parts, text[start:]]


def _condition(text: str) -> str:
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise _unknown("filter", text)
    kind, key, value = _kind(found["kind"]), _plain(found["key"]), _plain(found["value"])
    operator = found["operator"].upper()
    if kind == "metric":
        return f"metric({quoted(key)}).last {operator} {_number(value, text)}"
    if "LIKE" in operator:
        operator, value = "~", value.strip("%")
    if kind == "param":
        shown = value if _is_number(value) and operator != "~" else quoted(value)
        return f"config({quoted(key)}) {operator} {shown}"
    name = _ALIASES.get(key) if kind == "tag" else _ATTRIBUTES.get(key)
    if name is None:
        raise _unknown("filter", text)
    if name == "status":
        word = "not in" if operator == "!=" else "in"
        return f"status {word} {_STATUSES.get(value.upper(), '(lost)')}"
    return f"{name} {operator} {quoted(value)}"


def _kind(word: str | None) -> str:
    word = (word or "attribute").lower()
    return next((kind for kind in ("metric", "param", "tag") if word.startswith(kind)), "attribute")


def _plain(text: str) -> str:
    return text[1:-1] if text[0] in "'\"`" and len(text) > 1 and text[-1] == text[0] else text


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", text) is not None


def _number(value: str, text: str) -> str:
    if not _is_number(value):
        raise _unknown("filter", text)
    return value


def _unknown(field: str, text: str) -> Invalid:
    message = f"{field} {text.strip()[:100]!r} is not understood here"
    return Invalid(message, [Problem(field, "unknown", message)])
