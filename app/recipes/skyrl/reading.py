"""Texts `key=value` → a nested container, by OmegaConf, as SkyRL's own command line does.

`OmegaConf.from_cli` is what SkyRL calls (2.4.0); nothing else knows all its corners. Here each
text is merged alone, so that every mistake is found and not only the first.

Loaded where something unusual is to be read: OmegaConf and its grammar are 6 MB of a process.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf

from app.recipes.model import Finding
from app.recipes.skyrl.refusals import ReadsEnvironmentError, first_line, shorten, split, unresolved


def _refuse_environment(*_parts: object) -> None:
    raise ReadsEnvironmentError


# OmegaConf resolves `${oc.env:NAME}` from this process's environment, secrets included. Resolvers
# are global to the process and nothing else here uses OmegaConf.
OmegaConf.register_resolver(
    "oc.env", _refuse_environment, replace=True, annotation_validation="off"
)


def read(args: Sequence[str]) -> tuple[DictConfig, list[Finding]]:
    """Merges all that can be read, later ones over earlier; and what is wrong with the others."""
    config = OmegaConf.create()
    problems = [problem for arg in args for problem in _merge(config, arg)]
    return config, problems


def resolve(config: DictConfig) -> tuple[dict[Any, Any], list[Finding]]:
    """Plain values, interpolations replaced; left as they are where that is impossible."""
    try:
        return _plain(config, resolves=True), []
    except Exception as error:  # a resolver may raise anything
        return _plain(config, resolves=False), [unresolved(error)]


def _merge(config: DictConfig, arg: str) -> Iterator[Finding]:
    key, text = split(arg)
    if arg.startswith("+"):
        yield Finding(
            rule="plus_prefix",
            fields=(key,),
            message=f"{key}: SkyRL does not take a leading + (Hydra does)",
            fix=f"write {key.lstrip('+')}",
        )
        return
    try:
        config.merge_with_dotlist([arg])
    except Exception as error:  # YAML, OmegaConf and Python's own: all are refusals
        yield Finding(
            rule="override_syntax",
            fields=(key,),
            message=f"{key}: {shorten(text or '')!r} cannot be read: {_why(error)}",
            fix="put quotation marks around a text with special characters",
        )


def _plain(config: DictConfig, *, resolves: bool) -> dict[Any, Any]:
    plain = OmegaConf.to_container(config, resolve=resolves)
    assert isinstance(plain, dict)
    return plain


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, yaml.MarkedYAMLError) and error.problem:
        mark = error.problem_mark
        return f"{error.problem}, at character {mark.column + 1}" if mark else error.problem
    return first_line(error)
