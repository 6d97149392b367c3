"""A nested container of overrides → SkyRL's full config, group by group, as its dataclasses do.

SkyRL checks only names (an unknown one is refused) and what its classes check themselves
(`fills.py`); any value of any type is taken. A group is a `SimpleNamespace` here, so that a value
in its place fails exactly where SkyRL fails: when something looks into it.
"""

from collections.abc import Iterator, Mapping
from types import NoneType, SimpleNamespace
from typing import Any

from app.recipes.model import Finding
from app.recipes.skyrl.fills import run_fills
from app.recipes.skyrl.tree import Key, KeyTree
from app.recipes.skyrl.values import render_override, render_value

_NEAREST_SEARCHES = 20
_IMMUTABLE = frozenset({bool, int, float, str, NoneType})


class Construction:
    """Builds one config. `problems` collects all reasons for which SkyRL would refuse it."""

    def __init__(self, tree: KeyTree) -> None:
        self._tree = tree
        self._searches = 0
        self.problems: list[Finding] = []
        self.notes: list[Finding] = []

    def build(self, given: Mapping[Any, Any]) -> dict[str, Any]:
        """The flat full config; see `Parsed.full`. A null optional group is one key with None."""
        full: dict[str, Any] = {}
        _flatten(self._group("", given), "", full)
        return full

    def _group(self, path: str, given: Mapping[Any, Any] | None) -> SimpleNamespace:
        """The group at a path; `given` is None if nothing of it was set."""
        if given is None:
            return self._untouched(path)
        below = self._tree.below(path)
        self.problems += [self._unknown(path, name) for name in given if name not in below]
        group = SimpleNamespace(
            **{
                name: self._value(key, given[name]) if name in given else self._left_out(key, known)
                for name, (key, known) in below.items()
            }
        )
        missing = [name for name in self._tree.required(path) if name not in given]
        self.problems += [_required(path, name) for name in missing]
        return group if missing else self._fill(path, group)

    def _fill(self, path: str, group: SimpleNamespace) -> SimpleNamespace:
        self.problems += run_fills(self._tree, path, group)
        return group

    def _untouched(self, path: str) -> SimpleNamespace:
        if path not in self._tree.untouched:
            plain = Construction(self._tree)
            self._tree.untouched[path] = plain._by_default(path), plain.problems
        group, problems = self._tree.untouched[path]
        self.problems += problems
        return _fresh(group)

    def _by_default(self, path: str) -> SimpleNamespace:
        group = SimpleNamespace(
            **{
                name: self._by_default(key) if known is None else _copy(known.as_written)
                for name, (key, known) in self._tree.below(path).items()
            }
        )
        return self._fill(path, group)

    def _value(self, key: str, value: Any) -> Any:
        if self._tree.is_group(key) and isinstance(value, Mapping):
            return self._group(key, value)
        return value

    def _left_out(self, key: str, known: Key | None) -> Any:
        """The default of a key that is not set, in a group of which another key is."""
        if known is None:
            return self._group(key, None)
        if known.in_group is not known.as_written and known.in_group != known.as_written:
            self.notes.append(_dropped(known))
        default = known.in_group
        return default if type(default) in _IMMUTABLE else _copy(default)

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
    for key in [key for key in full if key in tree.groups]:
        if full[key] is not None or key not in tree.keys:
            yield key, full[key]


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


def _fresh(group: SimpleNamespace) -> SimpleNamespace:
    """A copy into which steps may write."""
    values = vars(group).items()
    return SimpleNamespace(
        **{k: each if type(each) in _IMMUTABLE else _copy(each) for k, each in values}
    )


def _copy(default: Any) -> Any:
    """A default of its own: a step may write into it. Trees hold what JSON does."""
    if isinstance(default, SimpleNamespace):
        return _fresh(default)
    if isinstance(default, dict):
        return {key: _copy(each) for key, each in default.items()}
    return [_copy(each) for each in default] if isinstance(default, list) else default


def _required(group: str, name: str) -> Finding:
    return Finding(
        rule="required_key",
        fields=(f"{group}.{name}",),
        message=f"{group}.{name} has no default and must be set when {group} is used",
    )


def _flatten(group: SimpleNamespace, prefix: str, into: dict[str, Any]) -> None:
    for name, value in vars(group).items():
        if isinstance(value, SimpleNamespace):
            _flatten(value, f"{prefix}{name}.", into)
        else:
            into[f"{prefix}{name}"] = value
