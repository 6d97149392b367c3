"""Bounds on overrides: what a config may reasonably hold, refused before any of it is read.

OmegaConf needs about 0.1 ms a node, builds a Python frame a level, and expands aliases and
interpolations; a pasted text must cost neither a second nor much memory.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import yaml

from app.recipes.model import Finding

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ARGUMENTS = 2_000
_CHARACTERS = 64 * 1024
_KEY_CHARACTERS = 300
_KEY_PARTS = 32
_NODES = 2_000
_DEPTH = 32
_BITS = 4_096
# Twenty can multiply a text by 3^(20/3), some 1,500 times: with 16 kB that is 24 MB.
_INTERPOLATIONS = 20
_INTERPOLATED_CHARACTERS = 16 * 1024
_ONE_SCALAR = re.compile(r"[A-Za-z0-9_./@+-]*")


def check_texts(args: Sequence[str]) -> Finding | None:
    """What is too large about `key=value` texts; None if nothing is. Linear in their length."""
    if len(args) > _ARGUMENTS:
        return _too_large(f"{len(args):,} overrides, where at most {_ARGUMENTS:,} are read")
    length = sum(len(each) for each in args)
    if length > _CHARACTERS:
        return _too_large(f"{length:,} characters, where at most {_CHARACTERS:,} are read")
    used = sum(each.count("${") for each in args)
    if used > _INTERPOLATIONS or (used and length > _INTERPOLATED_CHARACTERS):
        return _too_large(
            f"{used:,} interpolations (${{…}}) in {length:,} characters, where at most "
            f"{_INTERPOLATIONS} in {_INTERPOLATED_CHARACTERS:,} are read"
        )
    return _check_keys(args) or _check_nodes(args)


def check_values(values: Mapping[str, object]) -> Finding | None:
    """What is too large about typed values; None if nothing is."""
    characters = nodes = 0
    waiting: list[tuple[object, int]] = [(dict(values), -1)]
    while waiting:
        value, depth = waiting.pop()
        nodes += 1
        if isinstance(value, str):
            characters += len(value)
        elif isinstance(value, Mapping):
            characters += sum(len(str(key)) for key in value)
            waiting += [(each, depth + 1) for each in value.values()]
        elif isinstance(value, list):
            waiting += [(each, depth + 1) for each in value]
        if nodes + len(waiting) > _NODES + 1 or characters > _CHARACTERS or depth > _DEPTH:
            return _too_large(
                f"more than {_NODES:,} values, {_CHARACTERS:,} characters or {_DEPTH} levels"
            )
    return _check_keys(list(values))


def check_numbers(values: object) -> Finding | None:
    """A whole number that Python does not write out again, as it may come from `0xfff…`."""
    waiting = [values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, int):
            if value.bit_length() > _BITS:
                return _too_large(f"a whole number of more than {_BITS:,} bits")
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return None


def _check_keys(args: Iterable[str]) -> Finding | None:
    for arg in args:
        key = arg.partition("=")[0]
        if len(key) > _KEY_CHARACTERS or key.count(".") + key.count("[") >= _KEY_PARTS:
            return _too_large(
                f"a key of {len(key):,} characters ({key[:40]}…), where at most "
                f"{_KEY_CHARACTERS} in {_KEY_PARTS} parts are read"
            )
    return None


def _check_nodes(args: Iterable[str]) -> Finding | None:
    nodes = 0
    for arg in args:
        key, _, value = arg.partition("=")
        size, depth = (1, 0) if _ONE_SCALAR.fullmatch(value) else _measure(value)
        nodes += size
        if depth > _DEPTH:
            return _too_large(f"more than {_DEPTH} lists or dicts within each other", key)
        if nodes > _NODES:
            return _too_large(f"more than {_NODES:,} values in lists and dicts", key)
    return None


def _measure(value: str) -> tuple[int, int]:
    """(nodes with aliases expanded, depth) of YAML, without building any of it."""
    sizes: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = []
    nodes = deepest = 0
    try:
        for event in yaml.parse(value, Loader=_LOADER):
            if isinstance(event, yaml.AliasEvent):
                nodes += sizes.get(str(event.anchor), 1)
            elif isinstance(event, yaml.CollectionEndEvent):
                anchor, start = open_nodes.pop()
                if anchor is not None:
                    sizes[anchor] = nodes - start
            elif isinstance(event, yaml.NodeEvent):
                nodes += 1
                if isinstance(event, yaml.CollectionStartEvent):
                    open_nodes.append((event.anchor, nodes - 1))
                    deepest = max(deepest, len(open_nodes))
            if nodes > _NODES or deepest > _DEPTH:
                break
    except (yaml.YAMLError, UnicodeError):
        pass  # what cannot be read costs nothing; the reader says why
    return max(nodes, 1), deepest


def _too_large(what: str, key: str = "") -> Finding:
    return Finding(
        rule="too_large",
        fields=(key,) if key else (),
        message=f"Too large to be read: {what}",
        fix="give only the keys that differ from the defaults",
    )
