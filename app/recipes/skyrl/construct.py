"""A nested container of overrides → SkyRL's full config, group by group, as its dataclasses do.

SkyRL checks only names (an unknown one is refused) and what its classes check themselves
(`fills.py`); any value of any type is taken. A group is a `SimpleNamespace` here, so that a value
in its place fails exactly where SkyRL fails: when something looks into it.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

from app.recipes.model import Finding
from app.recipes.skyrl.fills import run_fills
from app.recipes.skyrl.tree import Key, KeyTree
from app.recipes.skyrl.values import render_override, render_value

_NEAREST_SEARCHES = 20


class Construction:
    """Builds one config. `problems` collects all reasons for which SkyRL would refuse it."""

    def __init__(self, tree: KeyTree) -> None:
        self._tree = tree
        self._searches = 0
        self.problems: list[Finding] = []
        self.notes: list[Finding] = []

    def build(self, given: Mapping[Any, Any]) -> dict[str, Any]:
        """The flat full config; see `Parsed.full`. A null optional group is one key with None."""
        return dict(_flatten(self._group("", given), ""))

    def _group(self, path: str, given: Mapping[Any, Any] | None) -> SimpleNamespace:
        """The group at a path; `given` is None if nothing of it was set."""
        if given is None:
            return self._fill(path, self._untouched(path))
        names = self._tree.children(path)
        self.problems += [self._unknown(path, name) for name in given if name not in names]
        group = SimpleNamespace()
        for name in names:
            key = f"{path}.{name}" if path else name
            value = self._value(key, given[name]) if name in given else self._left_out(key)
            setattr(group, name, value)
        missing = [name for name in self._tree.required(path) if name not in given]
        self.problems += [_required(path, name) for name in missing]
        return group if missing else self._fill(path, group)

    def _fill(self, path: str, group: SimpleNamespace) -> SimpleNamespace:
        self.problems += run_fills(self._tree, path, group)
        return group

    def _untouched(self, path: str) -> SimpleNamespace:
        keys = {name: f"{path}.{name}" for name in self._tree.children(path)}
        known = {name: self._tree.keys.get(key) for name, key in keys.items()}
        return SimpleNamespace(
            **{
                name: self._group(keys[name], None) if key is None else _copy(key.as_written)
                for name, key in known.items()
            }
        )

    def _value(self, key: str, value: Any) -> Any:
        if self._tree.is_group(key) and isinstance(value, Mapping):
            return self._group(key, value)
        return value

    def _left_out(self, key: str) -> Any:
        """The default of a key that is not set, in a group of which another key is."""
        known = self._tree.keys.get(key)
        if known is None:
            return self._group(key, None)
        if known.in_group != known.as_written:
            self.notes.append(_dropped(known))
        return _copy(known.in_group)

    def _unknown(self, path: str, name: object) -> Finding:
        key = f"{path}.{name}" if path else str(name)
        self._searches += 1
        nearest = self._tree.nearest(key) if self._searches <= _NEAREST_SEARCHES else []
        return Finding(
            rule="unknown_key",
            fields=(key,),
            message=f"SkyRL {self._tree.short_version} has no key {key}",
            fix=_suggest(key, nearest),
        )


def wrong_groups(tree: KeyTree, full: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Groups in whose place a single value stands: (key, value)."""
    for key, value in full.items():
        known: Key | None = tree.keys.get(key)
        if tree.is_group(key) and not (known is not None and value is None):
            yield key, value


def _suggest(key: str, nearest: list[str]) -> str | None:
    if key.startswith("-"):
        return "write the key without leading dashes"
    return f"did you mean {' or '.join(nearest)}?" if nearest else None


def _dropped(key: Key) -> Finding:
    group = key.key.rpartition(".")[0]
    return Finding(
        rule="group_default",
        fields=(key.key,),
        message=f"{render_override(key.key, key.in_group)}, and not its default "
        f"{render_value(key.as_written)}, because another key of {group} is set",
        fix=f"set {key.key} too",
    )


def _copy(default: Any) -> Any:
    return deepcopy(default) if isinstance(default, dict | list) else default


def _required(group: str, name: str) -> Finding:
    return Finding(
        rule="required_key",
        fields=(f"{group}.{name}",),
        message=f"{group}.{name} has no default and must be set when {group} is used",
    )


def _flatten(group: SimpleNamespace, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in vars(group).items():
        if isinstance(value, SimpleNamespace):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
