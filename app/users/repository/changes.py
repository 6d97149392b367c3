"""How many rows a statement changed."""

from typing import Any, cast

from sqlalchemy import CursorResult


def changed(result: Any) -> int:
    return cast("CursorResult[Any]", result).rowcount
