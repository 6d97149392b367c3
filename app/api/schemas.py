"""Shapes that all answers and bodies share."""

import math
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

T = TypeVar("T")
_DEPTH = 5
_LONGEST = 20_000
# What the column of a config value's key holds.
_LONGEST_KEY = 300


class Answer(BaseModel):
    """What the API gives: built from rows by attribute."""

    model_config = ConfigDict(from_attributes=True, populate_by_name=True)


class Body(BaseModel):
    """What the API takes: an unknown field is a mistake worth telling."""

    model_config = ConfigDict(extra="forbid")


class Listing(Answer, Generic[T]):
    """One page of a list; `next_cursor` null means that it is the last one."""

    items: list[T]
    next_cursor: str | None = None


class ProblemEntry(Answer):
    field: str
    rule: str
    message: str


class ProblemAnswer(Answer):
    """An error, as `application/problem+json`."""

    type: str = Field(examples=["urn:skydeck:problem:not_found"])
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["there is no run run-7fk2m9qd"])
    errors: list[ProblemEntry]


def plain_values(values: dict[str, Any]) -> dict[str, Any]:
    """Values that any database can keep. Raises `ValueError` for others."""
    _check(values, "", _DEPTH)
    return values


def _check(value: Any, place: str, depth: int) -> None:
    if depth == 0:
        raise ValueError(f"{place} is nested too deeply")
    if isinstance(value, dict):
        for key, inner in value.items():
            _check_text(key, place or "a key")
            path = f"{place}.{key}" if place else key
            if len(path) > _LONGEST_KEY:
                raise ValueError(f"a key has more than {_LONGEST_KEY} characters")
            _check(inner, path, depth - 1)
    elif isinstance(value, list):
        for inner in value:
            _check(inner, place, depth - 1)
    elif isinstance(value, str):
        _check_text(value, place)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{place} is not a finite number")


def _check_text(text: str, place: str) -> None:
    if "\0" in text or _is_halved(text) or len(text) > _LONGEST:
        raise ValueError(f"{place} holds text that cannot be stored")


def whole_characters(text: str) -> str:
    """Text of any length that can be answered. Raises `ValueError` for half a character in it."""
    if _is_halved(text):
        raise ValueError("this holds half of a surrogate pair, which is no text")
    return text


def _is_halved(text: str) -> bool:
    return any("\ud800" <= sign <= "\udfff" for sign in text)


def no_nul(text: str) -> str:
    """Text that any database can keep. Raises `ValueError` for another."""
    _check_text(text, "this")
    return text


ConfigValues = Annotated[dict[str, Any], AfterValidator(plain_values)]
"""Config values by dotted key: `{"trainer.seed": 1}`."""
Line = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(no_nul)]
Prose = Annotated[str, StringConstraints(max_length=_LONGEST), AfterValidator(no_nul)]
