"""What the runs of a sweep are called: by what differs between them. Pure."""

import json
from collections.abc import Mapping, Sequence

from app.names import MAX_NAME
from app.recipes.model import Value

_LONGEST_VALUE = 40
_NOTHING_SET = "defaults"


def differing(points: Sequence[Mapping[str, Value]], keys: Sequence[str]) -> list[str]:
    """Those of the keys that have not the same value in all points."""
    return [key for key in keys if len({_canonical(point.get(key)) for point in points}) > 1]


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """The shortest end of each dotted key that no other one of the keys ends in."""
    return {key: _shortest(key, keys) for key in keys}


def name_of(point: Mapping[str, Value], names: Mapping[str, str]) -> str:
    """`lr=0.002, seed=1`: the point's values of the keys in `names`, cut to what a name holds.

    A key that the point lacks is not named; a point that lacks all of them is one of defaults.
    """
    named = [f"{short}={value_text(point[key])}" for key, short in names.items() if key in point]
    text = ", ".join(named) or _NOTHING_SET
    text = "".join(sign if sign.isprintable() else " " for sign in text).strip()
    return text if len(text) <= MAX_NAME else text[: MAX_NAME - 1] + "…"


def value_text(value: Value) -> str:
    """A value in few signs: numbers in six digits, long texts cut."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def _shortest(key: str, keys: Sequence[str]) -> str:
    parts = key.split(".")
    for count in range(1, len(parts)):
        end = ".".join(parts[-count:])
        if not any(other != key and f".{other}".endswith(f".{end}") for other in keys):
            return end
    return key


def _canonical(value: Value) -> str:
    return json.dumps(value, sort_keys=True)
