"""Texts `key=value` → a nested container, by OmegaConf, as SkyRL's own command line does.

`OmegaConf.from_cli` is what SkyRL calls (2.4.0); nothing else knows all its corners. Here each
text is merged alone, so that every mistake is found and not only the first.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf

from app.recipes.model import Finding

_SHOWN = 60


class _ReadsEnvironmentError(Exception):
    """`${oc.env:NAME}`: its value would be this machine's, where the job's was meant."""


def _refuse_environment(*_parts: object) -> None:
    raise _ReadsEnvironmentError


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


def unresolved(error: Exception) -> Finding:
    """Why an interpolation has no value."""
    key = str(getattr(error, "full_key", None) or "")
    fields = (key,) if key else ()
    if _is_caused_by_environment(error):
        return Finding(
            rule="environment_interpolation",
            fields=fields,
            message=f"{key or 'A value'} is read from an environment variable when the job starts "
            "(oc.env), so it cannot be checked now",
            fix="write the value itself",
        )
    return Finding(
        rule="interpolation",
        fields=fields,
        message=f"{key or 'A value'} refers to something that is not there: {_first_line(error)}",
        fix="an interpolation sees only keys that are set as overrides; write the value itself, "
        "or \\${ for a plain text",
    )


def split(arg: str) -> tuple[str, str | None]:
    """Key and text at the first `=` that no backslash escapes; text None if there is none."""
    index = 0
    while index < len(arg) and arg[index] != "=":
        index += 2 if arg[index] == "\\" and arg[index + 1 : index + 2] in set(".[]=") else 1
    return (arg[:index], arg[index + 1 :]) if index < len(arg) else (arg, None)


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
            message=f"{key}: {_shorten(text or '')!r} cannot be read: {_why(error)}",
            fix="put quotation marks around a text with special characters",
        )


def _plain(config: DictConfig, *, resolves: bool) -> dict[Any, Any]:
    plain = OmegaConf.to_container(config, resolve=resolves)
    assert isinstance(plain, dict)
    return plain


def _is_caused_by_environment(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, _ReadsEnvironmentError) or "_ReadsEnvironmentError" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, yaml.MarkedYAMLError) and error.problem:
        mark = error.problem_mark
        return f"{error.problem}, at character {mark.column + 1}" if mark else error.problem
    return _first_line(error)


def _first_line(error: Exception) -> str:
    return _shorten((str(error).splitlines() or [type(error).__name__])[0], 4 * _SHOWN)


def _shorten(text: str, length: int = _SHOWN) -> str:
    return text if len(text) <= length else f"{text[:length]}…"
