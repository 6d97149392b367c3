"""The filter language of the runs table: text in, a tree of conditions out. Pure.

    status = failed and tag = "lora" and metric("eval/all/pass_at_1").best > 0.9
    config("trainer.policy.optimizer_config.lr") <= 3e-6 or name ~ "seed 3"

What each field takes is in `docs/runs-table.md`. Nothing of the text reaches a statement but as a
parameter.
"""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedInput, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedToken, VisitError

from app.errors import Invalid, Problem

MAX_LENGTH = 2_000
MAX_CONDITIONS = 50


class Kind(StrEnum):
    """What a field holds."""

    TEXT = "text"
    NUMBER = "number"
    TIME = "time"
    STATUS = "status"
    TAG = "tag"
    METRIC = "metric"
    CONFIG = "config"
    FLAG = "flag"


FIELDS = {
    "id": Kind.TEXT,
    "name": Kind.TEXT,
    "owner": Kind.TEXT,
    "experiment": Kind.TEXT,
    "project": Kind.TEXT,
    "cluster": Kind.TEXT,
    "recipe": Kind.TEXT,
    "sweep": Kind.TEXT,
    "status": Kind.STATUS,
    "tag": Kind.TAG,
    "pinned": Kind.FLAG,
    "archived": Kind.FLAG,
    "step": Kind.NUMBER,
    "created_at": Kind.TIME,
    "started_at": Kind.TIME,
    "ended_at": Kind.TIME,
}
STATISTICS = ("last", "best", "min", "max", "count", "last_step", "best_step")
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_OPERATORS = {
    Kind.TEXT: ("=", "!=", "~", "!~"),
    Kind.STATUS: ("=", "!="),
    Kind.TAG: ("=", "!="),
    Kind.FLAG: ("=", "!="),
    Kind.NUMBER: _COMPARISONS,
    Kind.TIME: _COMPARISONS,
    Kind.METRIC: _COMPARISONS,
    Kind.CONFIG: (*_COMPARISONS, "~", "!~"),
}

Value = str | float | bool


@dataclass(frozen=True, slots=True)
class Field:
    """What is looked at: a column, a metric's `statistic`, or a config value."""

    kind: Kind
    name: str
    statistic: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """`operator` is one of = != < <= > >= ~ !~ in; `values` has one value but for `in`."""

    field: Field
    operator: str
    values: tuple[Value, ...]
    position: int = 0


@dataclass(frozen=True, slots=True)
class Not:
    part: "Node"


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Any_:
    parts: tuple["Node", ...]


Node = Condition | Not | All | Any_

_GRAMMAR = r"""
?start: either
?either: both ("or"i both)*
?both: negated ("and"i negated)*
?negated: "not"i negated -> negation
        | condition
        | "(" either ")"
condition: field OPERATOR value
         | field "in"i "(" value ("," value)* ")" -> choice
         | field "not"i "in"i "(" value ("," value)* ")" -> exclusion
?field: "metric"i "(" STRING ")" ["." WORD] -> metric
      | "config"i "(" STRING ")" -> config
      | WORD -> column
?value: NUMBER -> number
      | STRING -> text
      | WORD -> word
OPERATOR: "!=" | "<=" | ">=" | "!~" | "=" | "<" | ">" | "~"
WORD: /(?!(?:and|or|not|in)\b)[A-Za-z_][A-Za-z0-9_]*/i
NUMBER: /[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?/
STRING: /"(\\.|[^"\\])*"|'(\\.|[^'\\])*'/
%ignore /\s+/
"""
_EXPECTED = {
    "OPERATOR": "= != < <= > >= ~ !~",
    "NUMBER": "a number",
    "STRING": 'text in quotes, such as "lora"',
    "WORD": "a word",
    "LPAR": "(",
    "RPAR": ")",
    "COMMA": ",",
    "DOT": ".",
    "AND": "and",
    "OR": "or",
    "NOT": "not",
    "IN": "in",
    "METRIC": 'metric("…")',
    "CONFIG": 'config("…")',
}


@lru_cache(maxsize=512)
def parse(text: str) -> Node | None:
    """The tree of a filter; None for an empty one.

    Raises `Invalid` with the place of the first mistake, counted from 1, and what would fit there.
    """
    if not text.strip():
        return None
    if len(text) > MAX_LENGTH:
        raise _wrong(MAX_LENGTH, f"a filter has at most {MAX_LENGTH:,} characters")
    try:
        tree = _parser().parse(text)
        node: Node = _Reader().transform(tree)
    except VisitError as error:
        if isinstance(error.orig_exc, Invalid):
            raise error.orig_exc from None
        raise
    except RecursionError:
        raise _wrong(0, "this filter is nested too deeply") from None
    except UnexpectedInput as error:
        raise _unexpected(error, text) from None
    if sum(1 for _ in conditions_of(node)) > MAX_CONDITIONS:
        raise _wrong(0, f"a filter has at most {MAX_CONDITIONS} conditions")
    return node


def conditions_of(node: Node | None) -> Iterator[Condition]:
    """All conditions of a tree, from left to right."""
    if isinstance(node, Condition):
        yield node
    elif isinstance(node, Not):
        yield from conditions_of(node.part)
    elif node is not None:
        for part in node.parts:
            yield from conditions_of(part)


def fields_in(text: str) -> frozenset[str]:
    """The names of the columns that a filter looks at. Raises `Invalid` as `parse` does."""
    return frozenset(each.field.name for each in conditions_of(parse(text)))


def quoted(text: str) -> str:
    """Text as the language writes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@lru_cache(maxsize=1)
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", propagate_positions=True)


@v_args(inline=True)
class _Reader(Transformer[Token, Any]):
    """Makes the nodes, and refuses what the grammar alone lets through."""

    def either(self, *parts: Node) -> Node:
        return Any_(parts)

    def both(self, *parts: Node) -> Node:
        return All(parts)

    def negation(self, part: Node) -> Node:
        return Not(part)

    def condition(self, field: "tuple[Field, int]", operator: Token, value: Value) -> Node:
        found, place = field
        known = _OPERATORS[found.kind]
        if str(operator) not in known:
            kind = f"{found.kind} fields take {' '.join(known)}"
            raise _wrong(operator.start_pos, f"{found.name} does not take {operator}: {kind}")
        return Condition(found, str(operator), (_fitting(found, value, place),), place)

    def choice(self, field: "tuple[Field, int]", *values: Value) -> Node:
        found, place = field
        return Condition(found, "in", tuple(_fitting(found, v, place) for v in values), place)

    def exclusion(self, field: "tuple[Field, int]", *values: Value) -> Node:
        found, place = field
        return Not(Condition(found, "in", tuple(_fitting(found, v, place) for v in values), place))

    def column(self, name: Token) -> "tuple[Field, int]":
        kind = FIELDS.get(name.lower())
        if kind is None:
            message = f"there is no field {name}" + _near(name, [*FIELDS, "metric", "config"])
            raise _wrong(name.start_pos, message)
        return Field(kind, name.lower()), name.start_pos or 0

    def metric(self, key: Token, statistic: Token | None = None) -> "tuple[Field, int]":
        name = str(statistic).lower() if statistic is not None else "last"
        if statistic is not None and name not in STATISTICS:
            message = f"a metric has no {statistic}" + _near(name, STATISTICS)
            raise _wrong(statistic.start_pos, message)
        return Field(Kind.METRIC, _unquoted(key), name), key.start_pos or 0

    def config(self, key: Token) -> "tuple[Field, int]":
        return Field(Kind.CONFIG, _unquoted(key)), key.start_pos or 0

    def number(self, text: Token) -> Value:
        return float(text)

    def text(self, text: Token) -> Value:
        return _unquoted(text)

    def word(self, word: Token) -> Value:
        truth = {"true": True, "false": False}
        return truth.get(word.lower(), str(word))


def _fitting(field: Field, value: Value, place: int) -> Value:
    if field.kind in (Kind.NUMBER, Kind.METRIC) and isinstance(value, str):
        raise _wrong(place, f"{field.name} is a number: {value} is none")
    if field.kind in (Kind.TEXT, Kind.TAG, Kind.STATUS, Kind.TIME) and not isinstance(value, str):
        example = {Kind.TIME: '"2026-11-29" or "-7d"'}.get(field.kind, 'text, such as "lora"')
        raise _wrong(place, f"{field.name} wants {example}")
    if field.kind is Kind.FLAG and not isinstance(value, bool):
        raise _wrong(place, f"{field.name} is true or false")
    if isinstance(value, str) and "\0" in value:
        raise _wrong(place, "no text holds a zero byte")
    return value


def _unquoted(token: Token) -> str:
    text = token[1:-1]
    return text.replace("\\" + token[0], token[0]).replace("\\\\", "\\")


def _near(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word.lower(), known, n=1)
    return f"; did you mean {near[0]}?" if near else f"; known are {', '.join(known)}"


def _unexpected(error: UnexpectedInput, text: str) -> Invalid:
    if isinstance(error, UnexpectedEOF) or (
        isinstance(error, UnexpectedToken) and error.token.type == "$END"
    ):
        return _wrong(len(text), f"the filter ends too early: {_wanted(error)}")
    place = error.pos_in_stream or 0
    found = text[place : place + 20]
    if isinstance(error, UnexpectedCharacters) and found[:1] in "\"'":
        return _wrong(place, "this quote has no end")
    return _wrong(place, f"“{found}” does not fit here: {_wanted(error)}")


def _wanted(error: UnexpectedInput) -> str:
    names = getattr(error, "accepts", None) or getattr(error, "expected", None) or ()
    if isinstance(error, UnexpectedCharacters):
        names = error.allowed or ()
    words = [_EXPECTED[name] for name in _EXPECTED if name in names]
    return (
        f"give {', '.join(words[:-1])} or {words[-1]}"
        if len(words) > 1
        else (f"give {words[0]}" if words else "the filter should end here")
    )


def _wrong(position: int | None, message: str) -> Invalid:
    place = (position or 0) + 1
    whole = f"filter, character {place}: {message}"
    return Invalid(whole, [Problem("filter", f"character {place}", message)])
