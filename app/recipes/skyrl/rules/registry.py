"""All rules by id, and how one is asked.

A rule is a small pure function over a `View` and a `Context` that yields what is wrong. Ids are
stable: `V1` to `V26` are what SkyRL's own check refuses, `E1` to `E11` what fails later, after GPUs
were taken; `trap.*` are settings that cost runs, `note.*` combinations that are rarely meant.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from app.recipes.model import Finding
from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.context import Context
from app.recipes.skyrl.rules.view import Unfit, View, is_number, number_in, number_keys, shown

_STOPS_PYTHON = (TypeError, ValueError, ArithmeticError, AttributeError, LookupError)


class Kind(StrEnum):
    REFUSED = "refused"
    FAILS = "fails"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """What a rule found: as `Finding`, without what the rule itself says.

    `fields` are given where they are fewer than, or other than, the rule's own.
    """

    message: str
    fix: str | None = None
    fix_values: Mapping[str, Any] | None = None
    fields: tuple[str, ...] = ()


Look = Callable[[View, Context], Iterable[Flaw]]


@dataclass(frozen=True, slots=True)
class Rule:
    id: str
    kind: Kind
    fields: tuple[str, ...]
    look: Look


RULES: dict[str, Rule] = {}
"""All rules by id, as their modules were imported."""


def rule(kind: Kind, rule_id: str, *fields: str) -> Callable[[Look], Look]:
    """Registers a function as the rule of that id over those keys."""

    def register(look: Look) -> Look:
        if rule_id in RULES:
            raise ValueError(f"two rules are named {rule_id}")
        RULES[rule_id] = Rule(rule_id, kind, fields, look)
        return look

    return register


def ask(each: Rule, at: View, context: Context) -> list[Finding]:
    """What one rule finds. Never raises for a config, of whatever types.

    Where SkyRL's own check would stop with a Python error, that is what is found; a rule of ours
    that lacks a value it needs finds nothing.
    """
    at.asked.clear()
    try:
        return [_finding(each, flaw) for flaw in each.look(at, context)]
    except (Unfit, RecursionError):
        return []
    except _STOPS_PYTHON as error:
        return list(_crash(each, at, list(at.asked), error))


def ask_all(at: View, context: Context, *kinds: Kind) -> list[Finding]:
    """What all rules of those kinds find, each crash of SkyRL over a value once."""
    return _once([finding for each in rules_of(*kinds) for finding in ask(each, at, context)])


@cache
def rules_of(*kinds: Kind) -> tuple[Rule, ...]:
    """Rules of those kinds, by number as SkyRL asks them."""
    chosen = [each for each in RULES.values() if each.kind in kinds]
    return tuple(sorted(chosen, key=lambda each: (kinds.index(each.kind), _number(each.id))))


def fix_passes(at: View, context: Context, changes: Mapping[str, Any], *ends: str) -> bool:
    """Whether changed values end the findings of the rules `ends` and bring no other error."""
    before = {finding.rule for finding in _errors(at.changed({}), context)}
    after = {finding.rule for finding in _errors(at.changed(changes), context)}
    return after <= before.difference(ends)


def _number(rule_id: str) -> int:
    found = re.match(r"[VE](\d+)", rule_id)
    return int(found[1]) if found else 0


def _errors(at: View, context: Context) -> list[Finding]:
    return ask_all(at, context, Kind.REFUSED, Kind.FAILS)


def _finding(each: Rule, flaw: Flaw) -> Finding:
    return Finding(
        rule=each.id,
        fields=_plain(flaw.fields or each.fields),
        message=flaw.message,
        fix=flaw.fix,
        fix_values=None
        if flaw.fix_values is None
        else {str(key): value for key, value in flaw.fix_values.items()},
    )


def _plain(fields: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(field) for field in fields)


def _crash(each: Rule, at: View, asked: list[str], error: Exception) -> Iterator[Finding]:
    if each.kind is not Kind.REFUSED:
        return
    wrong = [key for key in dict.fromkeys(asked) if _is_no_number(at, key)]
    for key in wrong:
        value = at.get(key)
        meant = number_in(value)
        yield Finding(
            rule="type",
            fields=(str(key),),
            message=f"{key} is {shown(value)}, which is no number: SkyRL's check stops on it "
            f"with a {type(error).__name__}",
            fix=None if meant is None else f"write {shown(meant)} without quotes",
            fix_values=None if meant is None else {str(key): meant},
        )
    if not wrong:
        yield Finding(
            rule=each.id,
            fields=_plain(each.fields),
            message=f"SkyRL's check stops on {k.listed(each.fields)} with a {type(error).__name__}",
        )


def _is_no_number(at: View, key: str) -> bool:
    return key in number_keys() and not is_number(at.get(key))


def _once(found: list[Finding]) -> list[Finding]:
    return list({(each.rule, each.fields, each.message): each for each in found}.values())
