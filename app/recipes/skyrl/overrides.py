"""Reads `key=value` overrides exactly as SkyRL does, and says why it would refuse them."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.recipes.model import Finding
from app.recipes.skyrl import limits
from app.recipes.skyrl.construct import Construction, wrong_groups
from app.recipes.skyrl.plain import UnusualError, is_name, merge_texts, merge_values
from app.recipes.skyrl.refusals import split
from app.recipes.skyrl.renamed import group_value, replace_renamed
from app.recipes.skyrl.tree import Key, KeyTree
from app.recipes.skyrl.value_types import check_type
from app.recipes.skyrl.values import render_override

_COMMENT = re.compile(r"\s#")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What SkyRL makes of overrides.

    `values` are the settings as given, flat and typed: dotted key to value, later ones win, dicts
    of known groups and free-form dicts taken apart. `full` is the flat config after defaults and
    after what SkyRL fills in by itself; an optional group that is null is one key with None, the
    value of a free-form key is one dict. If SkyRL refuses, `full` holds what could be made out.
    `problems` are the reasons why SkyRL would refuse, empty if it accepts. `wrong_types` are values
    that SkyRL takes although they are not of the key's type, `notes` what is worth a second look.
    """

    values: dict[str, Any]
    full: dict[str, Any]
    problems: list[Finding] = field(default_factory=list)
    wrong_types: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        """Whether SkyRL would build its config from them."""
        return not self.problems

    def read(self, key: str) -> Any:
        """The value of a key of `full`, or one inside it; of a group, a nested dict.

        Raises `KeyError`.
        """
        path = key.split(".")
        for length in range(len(path), 0, -1):
            above = ".".join(path[:length])
            if above in self.full:
                return _inside(self.full[above], path[length:], key)
        nested: dict[str, Any] = {}
        for name, value in self.full.items():
            if name.startswith(f"{key}."):
                *groups, last = name[len(key) + 1 :].split(".")
                place = nested
                for group in groups:
                    place = place.setdefault(group, {})
                place[last] = value
        if not nested:
            raise KeyError(key)
        return nested


def parse_overrides(args: Sequence[str], tree: KeyTree) -> Parsed:
    """Reads a list of `key=value` texts, as SkyRL's command line is split by the shell.

    Nothing is executed and no environment variable is read. Input beyond `limits.py` is refused
    before it is parsed.
    """
    large = limits.check_texts(args)
    if large is not None:
        return Parsed(values={}, full=tree.defaults(), problems=[large])
    notes = list(_doubtful(args))
    try:
        plain = merge_texts(args)
    except UnusualError:
        return _parse_with_omegaconf(args, tree, notes)
    problems, renames = replace_renamed(plain)
    return _parsed(plain, tree, problems, notes=renames + notes)


def check_values(values: Mapping[str, Any], tree: KeyTree) -> Parsed:
    """As `parse_overrides` for values that are typed already; keys as in `Parsed.values`."""
    large = limits.check_values(values)
    if large is not None:
        return Parsed(values={}, full=tree.defaults(), problems=[large])
    try:
        plain = merge_values(values.items())
    except UnusualError:
        return _check_by_text(values, tree)
    problems, notes = replace_renamed(plain)
    return _parsed(plain, tree, problems, notes=notes)


def _parse_with_omegaconf(args: Sequence[str], tree: KeyTree, notes: list[Finding]) -> Parsed:
    from app.recipes.skyrl.reading import read, resolve

    config, problems = read(args)
    refused, renames = replace_renamed(config)
    plain, unresolved = resolve(config)
    return _parsed(plain, tree, problems + refused + unresolved, notes=renames + notes)


def _check_by_text(values: Mapping[str, Any], tree: KeyTree) -> Parsed:
    """For keys with brackets, indices or escapes, which only OmegaConf understands."""
    args: list[str] = []
    problems: list[Finding] = []
    for key, value in values.items():
        try:
            args.append(render_override(key, value))
        except ValueError as error:
            message = f"{key[:60]}: {error}"
            problems.append(Finding(rule="no_override", fields=(key,), message=message))
    parsed = parse_overrides(args, tree)
    parsed.problems.extend(problems)
    return parsed


def _parsed(
    plain: dict[Any, Any], tree: KeyTree, problems: list[Finding], *, notes: list[Finding]
) -> Parsed:
    large = limits.check_numbers(plain)
    if large is not None:
        return Parsed(values={}, full=tree.defaults(), problems=[*problems, large])
    construction = Construction(tree)
    full = construction.build(plain)
    misplaced = [group_value(key, value) for key, value in wrong_groups(tree, full)]
    explained = {name for each in problems for name in each.fields}
    found = problems + [
        each for each in construction.problems if not explained.intersection(each.fields)
    ]
    if misplaced and any(each.rule == "construction_error" for each in found):
        found = [each for each in found if each.rule != "construction_error"] + misplaced
    values: dict[str, Any] = {}
    _take_apart(plain, tree, "", values)
    types = [check_type(known, full[known.key]) for known in _given(values, full, tree)]
    wrong = [each for each in types if each is not None]
    return Parsed(
        values=values,
        full=full,
        problems=_once(found),
        wrong_types=wrong if found else _once(wrong + misplaced),
        notes=notes + construction.notes + ([] if found else list(_changed(values, full))),
    )


def _changed(values: Mapping[str, Any], full: Mapping[str, Any]) -> Iterator[Finding]:
    """What SkyRL sets to another value than was given, with a warning in its log at most."""
    for key, value in values.items():
        if key in full and value is not None and full[key] is not value and full[key] != value:
            yield Finding(
                rule="changed_by_skyrl",
                fields=(key,),
                message=f"SkyRL sets {render_override(key, full[key])} by itself, "
                "whatever is given here",
                fix_values={key: full[key]},
            )


def _given(values: Mapping[str, Any], full: Mapping[str, Any], tree: KeyTree) -> list[Key]:
    """The known keys that were set, each once: what SkyRL fills in is not the user's to mend."""
    given: dict[str, Key] = {}
    for key in values:
        known = tree.find(key)
        while known is None and "." in key:
            key = key.rpartition(".")[0]
            known = tree.find(key)
        if known is not None and known.inside is not None:
            known = tree.keys[known.inside]
        if known is not None and known.key in full:
            given[known.key] = known
    return list(given.values())


def _take_apart(given: Mapping[Any, Any], tree: KeyTree, prefix: str, into: dict[str, Any]) -> None:
    for name, value in given.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and value and _is_taken_apart(key, value, tree):
            _take_apart(value, tree, f"{key}.", into)
        else:
            into[key] = value


def _is_taken_apart(key: str, value: Mapping[Any, Any], tree: KeyTree) -> bool:
    """Not a dict that stands for a single value, nor one whose names are no part of a key."""
    if key in tree.keys and not tree.is_group(key) and not tree.keys[key].is_free_form:
        return False
    return all(map(is_name, value))


def _doubtful(args: Sequence[str]) -> Iterator[Finding]:
    """What SkyRL takes without a word although it was hardly meant."""
    counts = Counter(split(arg)[0] for arg in args)
    for key, count in counts.items():
        if count > 1:
            message = f"{key} is set {count} times: the last one counts"
            yield Finding(rule="set_twice", fields=(key,), message=message)
    for arg in args:
        key, text = split(arg)
        if text is None:
            message = f"{key} has no = and is set to null"
            yield Finding(rule="no_value", fields=(key,), message=message, fix=f"write {key}=…")
        elif _COMMENT.search(text) and text[:1] not in ("'", '"'):
            message = f"{key}: what follows # is a comment and is left out"
            yield Finding(rule="comment", fields=(key,), message=message, fix="quote the text")


def _inside(value: Any, path: list[str], key: str) -> Any:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            raise KeyError(key)
        value = value[name]
    return value


def _once(findings: list[Finding]) -> list[Finding]:
    return list({(each.rule, each.fields, each.message): each for each in findings}.values())
