"""The tree of config keys of a SkyRL version, with types, defaults and choices.

The shipped files were dumped from the real SkyRL by `docker/dump_config_tree.py`: a list of
`{"key", "type", "default"}`, where `resolved_default` is the value after SkyRL filled in what was
left open, `group_default` the one once another key of its group is set (SkyRL then builds the group
anew and drops what its parent had put into it), `group_optional` names the group that is null
unless one of its keys is set, `is_group` marks such a group itself, and `required` a key without a
default. `~` stands for the home folder.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property
from heapq import nlargest
from importlib import resources
from typing import Any

from app.recipes.model import Finding

_FREE_FORM = re.compile(r"(Optional\[)?(dict\b|Dict\[)")
_DATA = resources.files("app.recipes.skyrl") / "data"
_SHORT_HASH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key. `type` is SkyRL's annotation as text, such as `Optional[int]`.

    `default` is the value after SkyRL filled it in (`resolved_default`), which `as_written` is not;
    `in_group` is the default once another key of its group is set.
    `group` is the optional group that the key lives in; `inside` is the free-form dict that a key
    of the user's own making lies in, its type is then `Any`.
    """

    key: str
    type: str
    default: Any = None
    as_written: Any = None
    in_group: Any = None
    choices: tuple[Any, ...] = ()
    group: str | None = None
    inside: str | None = None
    is_group: bool = False
    is_required: bool = False

    @property
    def is_free_form(self) -> bool:
        """Whether the value is a dict with keys that SkyRL does not know: all are taken."""
        return _FREE_FORM.match(self.type) is not None

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.key.rpartition(".")[2]


class KeyTree:
    """All keys of one SkyRL version, in SkyRL's own order.

    `keys` holds also the optional groups themselves (`is_group`); `groups` are the paths of all.
    """

    def __init__(self, version: str, entries: Iterable[Mapping[str, Any]]) -> None:
        self.version = version
        self.keys: dict[str, Key] = {each["key"]: _read(each) for each in entries}
        self.groups = frozenset(
            path for key in self.keys.values() for path in _parents(key.key)
        ) | frozenset(key.key for key in self.keys.values() if key.is_group)
        self.untouched: dict[str, Any] = {}
        """For `construct.py`: groups as they are when none of their keys is set, made once."""

    def find(self, key: str) -> Key | None:
        """The key of that name, or one of the user's own inside a free-form dict; else None."""
        if key in self.keys:
            return self.keys[key]
        for path in _parents(key):
            parent = self.keys.get(path)
            if parent is not None and parent.is_free_form:
                return Key(key=key, type="Any", group=parent.group, inside=path)
        return None

    def is_group(self, path: str) -> bool:
        """Whether keys lie below `path`; a free-form dict is no group."""
        return path in self.groups

    def children(self, path: str) -> tuple[str, ...]:
        """The names right below a group; of the whole tree for an empty path."""
        return self._children.get(path, ())

    def below(self, path: str) -> Mapping[str, tuple[str, Key | None]]:
        """As `children`: by name the whole key, and what is known of it; None for a plain group."""
        return self._below.get(path, {})

    def required(self, path: str) -> tuple[str, ...]:
        """The names right below a group that have no default."""
        return self._required.get(path, ())

    @property
    def short_version(self) -> str:
        """The release, or the first 8 digits of the commit."""
        return _short(self.version)

    @cached_property
    def _children(self) -> dict[str, tuple[str, ...]]:
        names: dict[str, dict[str, None]] = {}
        for key in self.keys:
            for path in (*_parents(key), key):
                group, _, name = path.rpartition(".")
                names.setdefault(group, {})[name] = None
        return {group: tuple(each) for group, each in names.items()}

    @cached_property
    def _below(self) -> dict[str, dict[str, tuple[str, Key | None]]]:
        whole = {
            path: {name: f"{path}.{name}" if path else name for name in names}
            for path, names in self._children.items()
        }
        return {
            path: {name: (key, self.keys.get(key)) for name, key in names.items()}
            for path, names in whole.items()
        }

    @cached_property
    def _required(self) -> dict[str, tuple[str, ...]]:
        names: dict[str, list[str]] = {}
        for key in self.keys.values():
            if key.is_required:
                names.setdefault(key.key.rpartition(".")[0], []).append(key.name)
        return {group: tuple(each) for group, each in names.items()}

    @cached_property
    def _letter_pairs(self) -> dict[str, frozenset[str]]:
        return {key.key: _pairs(key.key) for key in self.leaves}

    def _overlap(self, name: str, wanted: frozenset[str]) -> float:
        own = self._letter_pairs[name]
        return len(own & wanted) / (len(own) + len(wanted))

    @cached_property
    def leaves(self) -> tuple[Key, ...]:
        """All keys that hold values, those of optional groups included."""
        return tuple(key for key in self.keys.values() if not key.is_group)

    def defaults(self) -> dict[str, Any]:
        """The flat config that SkyRL makes of no overrides at all.

        An optional group that stays null is one key with None, and its keys are absent.
        """
        return {
            key.key: key.default
            for key in self.keys.values()
            if key.group is None and not (key.is_group and key.default is not None)
        } | {
            f"{key.key}.{name}": value
            for key in self.keys.values()
            if key.is_group and isinstance(key.default, Mapping)
            for name, value in key.default.items()
        }

    def nearest(self, key: str, count: int = 3) -> list[str]:
        """The known keys that look most like a wrong one, best first; keys only, no groups."""
        wanted = _pairs(key)
        likeness = _Likeness(key)
        alike = nlargest(_CANDIDATES, self._letter_pairs, lambda name: self._overlap(name, wanted))
        scored = sorted(((likeness.of(name), name) for name in alike), reverse=True)
        return [name for score, name in scored[:count] if score >= _ALIKE]

    def complete(self, typed: str, limit: int = 20) -> list[Key]:
        """Keys for what was typed so far: those that start with it, then those that contain it."""
        text = typed.strip().lower()
        keys = [key for key in self.leaves if text in key.key.lower()]
        return sorted(keys, key=lambda key: not key.key.lower().startswith(text))[:limit]


@cache
def load_tree(version: str) -> KeyTree:
    """The tree of a shipped version: a release (`0.4.0`) or a commit (8 or 40 hex digits).

    Raises `KeyError` that names the shipped versions.
    """
    for known in shipped_versions():
        if version == known or (_is_commit(known) and known[:_SHORT_HASH] == version):
            return read_tree(known, (_DATA / f"{known}.json").read_text(encoding="utf-8"))
    raise KeyError(f"no key tree of SkyRL {version}; there are {', '.join(shipped_versions())}")


@cache
def shipped_versions() -> tuple[str, ...]:
    """Versions of SkyRL whose trees are shipped: commits in full, releases as on PyPI."""
    names = (each.name for each in _DATA.iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in names if name.endswith(".json")))


def read_tree(version: str, text: str) -> KeyTree:
    """A tree from the text that `docker/dump_config_tree.py` writes.

    Raises `ValueError` if the text is not such a list.
    """
    entries = json.loads(text)
    if not isinstance(entries, list) or not all(_is_entry(each) for each in entries):
        raise ValueError("a key tree is a list of objects with a key, a type and a default")
    return KeyTree(version, entries)


def compare_revision(tree: KeyTree, revision: str, *fields: str) -> Finding | None:
    """A warning if a config is checked against another SkyRL than the image runs; None if not.

    `revision` is what the image says: a release or a commit, of which a part is enough. `fields`
    are the keys that say it.
    """
    said = revision.strip().lower()
    same = said == tree.version or (
        _is_commit(tree.version) and len(said) >= _SHORT_HASH and tree.version.startswith(said)
    )
    if same:
        return None
    return Finding(
        rule="skyrl_revision",
        fields=fields,
        message=f"Checked against SkyRL {tree.short_version}, but the image runs "
        f"{_short(said) or 'one that it does not name'}: keys and defaults may differ",
        fix="dump the image's own keys with docker/dump_config_tree.py, or take an image with "
        f"SkyRL {tree.short_version}",
    )


_ALIKE = 0.55
_CANDIDATES = 12


class _Likeness:
    """Half the whole key, half its last part: a wrong group is as common as a typing error.

    Of a single word only the last part counts; small and capital letters are the same.
    """

    def __init__(self, wanted: str) -> None:
        wanted = wanted.lower()
        self._is_word = "." not in wanted
        self._whole = SequenceMatcher(a="", b=wanted, autojunk=False)
        self._last = SequenceMatcher(a="", b=wanted.rpartition(".")[2], autojunk=False)

    def of(self, key: str) -> float:
        self._last.set_seq1(key.rpartition(".")[2].lower())
        if self._is_word:
            return self._last.ratio()
        self._whole.set_seq1(key.lower())
        return (self._whole.ratio() + self._last.ratio()) / 2


def _pairs(key: str) -> frozenset[str]:
    """Pairs of neighbouring letters, those of the last part marked: two keys with many in common
    are worth a real comparison, which costs a hundred times more."""
    key = key.lower()
    last = f".{key.rpartition('.')[2]}."
    return frozenset(key[at : at + 2] for at in range(len(key) - 1)) | frozenset(
        f"{last[at : at + 2]}*" for at in range(len(last) - 1)
    )


def _read(entry: Mapping[str, Any]) -> Key:
    return Key(
        key=entry["key"],
        type=entry["type"],
        default=entry.get("resolved_default", entry["default"]),
        as_written=entry["default"],
        in_group=entry.get("group_default", entry["default"]),
        choices=tuple(entry.get("choices", ())),
        group=entry.get("group_optional"),
        is_group=entry.get("is_group", False),
        is_required=entry.get("required", False),
    )


def _parents(key: str) -> list[str]:
    parts = key.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("key"), str)
        and isinstance(entry.get("type"), str)
        and "default" in entry
    )


def _is_commit(version: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{40}", version) is not None


def _short(version: str) -> str:
    return version[:_SHORT_HASH] if _is_commit(version) else version
