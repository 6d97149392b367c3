"""Reads usual YAML as OmegaConf's reader does, without loading OmegaConf: 6 MB of each process.

From `omegaconf._yaml.get_yaml_loader` (2.4.0): YAML 1.1 as PyYAML reads it, but that `1e-3` is a
number, a date stays text, and no key of a mapping stands twice. A test compares the two.
"""

import re
from typing import TYPE_CHECKING, Any

import yaml

_STR = "tag:yaml.org,2002:str"
_TAG = "tag:yaml.org,2002:"
_SPECIAL_KEYS = (f"{_TAG}merge", f"{_TAG}value")
_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_FLOAT = re.compile(
    rf"""(?:[-+]?{_DIGITS}\.[0-9_]*(?:[eE][-+]?[0-9]+)?
    |[-+]?{_DIGITS}[eE][-+]?[0-9]+
    |\.{_DIGITS}(?:[eE][-+][0-9]+)?
    |[-+]?{_DIGITS}(?::[0-5]?[0-9])+\.[0-9_]*
    |[-+]?\.(?:inf|Inf|INF)
    |\.(?:nan|NaN|NAN))$""",
    re.VERBOSE,
)

if TYPE_CHECKING:
    from yaml import SafeLoader as _Base
else:
    _Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Loader(_Base):
    """Raises `yaml.YAMLError` also for merged and for repeated keys, which OmegaConf explains."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        seen = set()
        for key, _ in node.value:
            if key.tag in _SPECIAL_KEYS or (key.tag == _STR and key.value in seen):
                raise yaml.constructor.ConstructorError(
                    "while constructing a mapping",
                    node.start_mark,
                    f"the key {key.value} is special, or stands twice",
                    key.start_mark,
                )
            # Others are refused as keys, by what is built next.
            if isinstance(key, yaml.ScalarNode):
                seen.add(key.value)


def _resolvers() -> dict[str, list[tuple[str, Any]]]:
    found = {
        first: [(tag, pattern) for tag, pattern in known if tag != f"{_TAG}timestamp"]
        for first, known in _Base.yaml_implicit_resolvers.items()
    }
    for first in "-+0123456789.":
        found.setdefault(first, []).append((f"{_TAG}float", _FLOAT))
    return found


Loader.yaml_implicit_resolvers = _resolvers()
