"""The words of a command as its program gets them, and options among them."""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

_NOT_OPTIONS = ("--", "")


@dataclass(frozen=True, slots=True)
class Argument:
    """The words that one written word becomes; none, with a `reason`, where it is not known."""

    words: tuple[str, ...]
    raw: str
    line: int
    reason: str = ""


def flat(arguments: list[Argument]) -> list[Argument]:
    """With an argument for each word, also where one variable stood for several."""
    return [
        Argument((word,), each.raw, each.line) if word is not None else each
        for each in arguments
        for word in (each.words or ((None,) if each.reason else ()))
    ]


def base_name(argument: Argument) -> str:
    """The program's name without its folder; empty where it is not known."""
    return PurePosixPath(argument.words[0]).name if argument.words else ""


def without_wrappers(
    arguments: list[Argument], set_environment: Callable[[str, str], None]
) -> list[Argument]:
    """Leaves out `env NAME=value`, `exec`, `uv run --option value` and their like."""
    while arguments:
        name = base_name(arguments[0])
        if name in ("exec", "nohup", "time", "stdbuf", "sudo"):
            arguments = past_options(arguments[1:])
        elif name == "env":
            arguments = past_options(arguments[1:])
            while arguments and arguments[0].words and "=" in arguments[0].words[0]:
                key, _, value = arguments.pop(0).words[0].partition("=")
                set_environment(key, value)
        elif name == "uv" and len(arguments) > 1 and arguments[1].words == ("run",):
            arguments = past_options(arguments[2:], ("--extra", "--with", "--group", "--python"))
        else:
            break
    return arguments


def written(argument: Argument) -> str:
    """For a shell: as it stood where the shell makes more of it than its letters."""
    is_wild = any(sign in argument.raw for sign in "*?[{~")
    if is_wild and not any(sign in argument.raw for sign in "$`"):
        return argument.raw
    return shlex.join(argument.words)


def named_options(
    arguments: list[Argument], flags: tuple[str, ...] = ()
) -> Iterator[tuple[str, Any]]:
    """`--name value` and `--name=value` pairs; positional words under the empty name."""
    positional: list[str] = []
    words = [word for each in arguments for word in each.words]
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if not word.startswith("--") or word in _NOT_OPTIONS:
            positional.append(word)
        elif "=" in word:
            name, _, value = word.partition("=")
            yield name, value
        elif word in flags or place >= len(words) or words[place].startswith("--"):
            yield word, ""
        else:
            yield word, words[place]
            place += 1
    if positional:
        yield "", positional


def past_options(
    arguments: list[Argument], with_value: tuple[str, ...] = (), keep: tuple[str, ...] = ()
) -> list[Argument]:
    place = 0
    while place < len(arguments) and arguments[place].words:
        word = arguments[place].words[0]
        if not word.startswith("-") or word in keep:
            break
        place += 2 if word in with_value else 1
    return arguments[place:]
