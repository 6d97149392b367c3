#!/usr/bin/env python3
"""Prints the tree of SkyRL's config keys as JSON; run it inside a training image:

    python dump_config_tree.py > config-tree.json

Needs nothing but the SkyRL that is installed there. Written for SkyRL 0.4.0 and the main branch of
August 2026. Each key is an object with `key`, `type` (the annotation), and `default`. Where they
apply: `resolved_default` (the value after SkyRL filled in what was open), `group_default` (the
default once another key of the same group is set: then SkyRL builds the group anew),
`group_optional` (the group that is null unless one of its keys is set), `is_group`, `required`, and
`choices` (of a Literal; `--choices FILE` takes the others over from an older tree). The home folder
is written `~`. With `--revision` it prints the commit of SkyRL in the image instead, or its
release where it was installed from a package: what a config may say as `job.skyrl_revision`.
"""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import types
import typing
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Entry = dict[str, Any]


def dump(root: type) -> list[Entry]:
    """All keys below the class of the whole config, in the order of its fields."""
    resolved = root()
    groups = [root, *_groups(root)]
    fills = {group: vars(group).get("__post_init__") for group in groups}
    for group in groups:
        if fills[group] is not None:
            group.__post_init__ = lambda self: None  # type: ignore[attr-defined]
    try:
        return list(_walk(root, "", root(), resolved))
    finally:
        for group, fill in fills.items():
            if fill is not None:
                group.__post_init__ = fill  # type: ignore[attr-defined]


def revision(package: str) -> str:
    """The commit that a package was installed or checked out from, else its release.

    Raises `LookupError` if neither is known.
    """
    try:
        found = distribution(package)
    except PackageNotFoundError:
        found = None
    origin = json.loads((found and found.read_text("direct_url.json")) or "{}")
    commit = origin.get("vcs_info", {}).get("commit_id") or _checked_out(package)
    if commit:
        return str(commit)
    if found is None:
        raise LookupError(f"{package} is neither installed nor a checkout of git")
    return found.version


def _checked_out(package: str) -> str:
    spec = find_spec(package)
    folder = next(iter((spec and spec.submodule_search_locations) or [""]))
    if not folder or "site-packages" in Path(folder).parts:
        return ""
    asked = ["git", "-C", folder, "rev-parse", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True).stdout.strip()


def _walk(group: type, prefix: str, written: Any, resolved: Any) -> Iterator[Entry]:
    hints = typing.get_type_hints(group)
    declared = _build(group)
    for field in dataclasses.fields(group):
        key, hint = f"{prefix}{field.name}", hints[field.name]
        default = getattr(written, field.name)
        after = getattr(resolved, field.name)
        below = _group_of(hint)
        if below is not None and default is not None:
            yield from _walk(below, f"{key}.", default, after)
            continue
        yield _entry(key, hint, default, after) | _group_default(declared, field.name, default)
        if below is not None:
            for entry in _walk(below, f"{key}.", _build(below), _build(below)):
                yield {**entry, "group_optional": key}


def _entry(key: str, hint: Any, default: Any, resolved: Any) -> Entry:
    entry: Entry = {"key": key, "type": _name(hint)}
    if default is _REQUIRED:
        return entry | {"required": True, "default": None}
    entry["default"] = _plain(default)
    if _group_of(hint) is not None:
        entry["is_group"] = True
    if _plain(resolved) != entry["default"]:
        entry["resolved_default"] = _plain(resolved)
    if typing.get_origin(hint) is typing.Literal:
        entry["choices"] = list(typing.get_args(hint))
    return entry


def _group_default(declared: Any, name: str, default: Any) -> Entry:
    own = _plain(getattr(declared, name))
    return {} if default is _REQUIRED or own == _plain(default) else {"group_default": own}


_REQUIRED = object()


def _build(group: type) -> Any:
    """An object of the class with its declared defaults; a field without one is `_REQUIRED`."""
    needed = {
        field.name: _REQUIRED
        for field in dataclasses.fields(group)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    return group(**needed)


def _groups(group: type) -> Iterator[type]:
    for hint in typing.get_type_hints(group).values():
        below = _group_of(hint)
        if below is not None:
            yield below
            yield from _groups(below)


def _group_of(hint: Any) -> type | None:
    """The dataclass that an annotation names, `Optional` or not."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return hint
    if typing.get_origin(hint) in (typing.Union, types.UnionType, typing.Annotated):
        for part in typing.get_args(hint):
            if dataclasses.is_dataclass(part) and isinstance(part, type):
                return part
    return None


def _name(hint: Any) -> str:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is type(None):
        return "None"
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, parts))}]"
    if origin is typing.Annotated:
        return _name(parts[0])
    if origin in (typing.Union, types.UnionType):
        others = [_name(part) for part in parts if part is not type(None)]
        text = others[0] if len(others) == 1 else f"Union[{', '.join(others)}]"
        return f"Optional[{text}]" if type(None) in parts else text
    if origin in (list, dict) and parts:
        return f"{origin.__name__.capitalize()}[{', '.join(map(_name, parts))}]"
    return getattr(hint, "__name__", str(hint).removeprefix("typing."))


def _plain(value: Any) -> Any:
    """A default as JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain(dataclasses.asdict(value))
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    home = os.path.expanduser("~")
    if isinstance(value, str) and home != "~" and value.startswith(f"{home}/"):
        return f"~{value[len(home) :]}"
    return value


def main() -> None:
    parser = argparse.ArgumentParser(description="Prints SkyRL's config keys as JSON.")
    parser.add_argument("--choices", metavar="FILE", help="a tree whose choices are taken over")
    parser.add_argument("--revision", action="store_true", help="print SkyRL's commit or release")
    asked = parser.parse_args()
    if asked.revision:
        sys.stdout.write(f"{revision('skyrl')}\n")
        return
    file = asked.choices
    older = json.loads(Path(file).read_text(encoding="utf-8")) if file else []
    choices = {entry["key"]: entry["choices"] for entry in older if "choices" in entry}

    from skyrl.train.config import SkyRLTrainConfig

    entries = dump(SkyRLTrainConfig)
    for entry in entries:
        if entry["key"] in choices:
            entry.setdefault("choices", choices[entry["key"]])
    json.dump(entries, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
