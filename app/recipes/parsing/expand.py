"""What shell words stand for, as far as the text itself says. Commands inside are never run."""

import re
from dataclasses import dataclass, field

from app.recipes.parsing import lexer
from app.recipes.parsing.lexer import Kind, Piece, Word

RUN_MARK = "skydeck-run-id"
"""Stands for the run's id while a text is read: unlike `{run_id}`, a plain word also to YAML."""

HERE = "."
"""Stands for the folder of the script."""

_PARAMETER = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-=?+])(.*))?", re.DOTALL)
_ALL_OF = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\[[@*]\]")
_DATE = re.compile(r"\s*date(\s+(-u|--utc|\+\S+|'\+[^']*'|\"\+[^\"]*\"))*\s*")
_DIRNAME = re.compile(r"\bdirname\b")
_OF_THE_CLUSTER = ("HOME", "USER", "PWD", "PATH", "HOSTNAME")
_DEEPEST = 5
_LONGEST = 100_000
_LONGEST_DEFAULT = 10_000
_MOST = 1_000


class NotKnown(Exception):
    """What a word stands for cannot be said; the message says why."""


@dataclass(slots=True)
class Names:
    """Variables that the text has set so far, and why others are not known."""

    values: dict[str, str] = field(default_factory=lambda: {"SKYDECK_RUN_ID": RUN_MARK})
    arrays: dict[str, list[str]] = field(default_factory=dict)
    doubtful: dict[str, str] = field(default_factory=dict)

    def set(self, name: str, value: str, *, is_conditional: bool = False) -> None:
        """A second, other value in a branch makes the variable one that is not known."""
        if is_conditional and self.values.get(name, value) != value:
            self.doubtful[name] = f"{name} has different values, depending on a condition"
            return
        self.doubtful.pop(name, None)
        self.values[name] = value

    def forget(self, name: str, reason: str) -> None:
        self.values.pop(name, None)
        self.doubtful[name] = reason


def expand(word: Word, names: Names) -> list[str]:
    """The words that a word becomes: unquoted variables are split at blanks, as the shell does.

    Raises `NotKnown`.
    """
    words: list[str] = []
    current: str | None = None
    for piece in word.pieces:
        if found := _ALL_OF.fullmatch(piece.text) if piece.kind is Kind.VARIABLE else None:
            several = _array(found[1], names)
        else:
            text = _text(piece, names, _DEEPEST)
            several = [text] if piece.is_quoted or piece.kind is Kind.TEXT else text.split()
            if not piece.is_quoted and not several:
                continue
        for place, each in enumerate(several):
            if place and current is not None:
                words.append(current)
                current = None
            current = each if current is None else current + each
    if sum(map(len, words)) + len(current or "") > _LONGEST:
        raise NotKnown("it becomes too long")
    return words if current is None else [*words, current]


def value_of(word: Word, names: Names) -> str:
    """The text of a word that is not split, as in an assignment. Raises `NotKnown`."""
    text = "".join(_text(piece, names, _DEEPEST) for piece in word.pieces)
    if len(text) > _LONGEST:
        raise NotKnown("it becomes too long")
    return text


def parts_of(text: str) -> tuple[Piece, ...]:
    """A text as the pieces of one word, as if in double quotes."""
    escaped = text.replace('"', '\\"') if not text.startswith('"') else text.strip('"')
    found = list(lexer.commands(f'"{escaped}"')) if len(text) <= _LONGEST_DEFAULT else []
    return found[0].words[0].pieces if found and found[0].words else (Piece(Kind.UNCLEAR, text),)


def array_words(text: str, names: Names) -> tuple[str, list[str]]:
    """Name and words of `name=(…)`. Raises `NotKnown`."""
    name, _, inside = text.partition("=")
    words = [word for each in lexer.commands(inside[1:-1]) for word in each.words]
    found: list[str] = []
    for word in words:
        found += expand(word, names)
        if len(found) > _MOST:
            raise NotKnown("it becomes too long")
    return name, found


def _array(name: str, names: Names) -> list[str]:
    if name not in names.arrays:
        raise NotKnown(f"{name} is not set in this text")
    return names.arrays[name]


def _text(piece: Piece, names: Names, depth: int) -> str:
    if piece.kind is Kind.TEXT:
        return piece.text
    if piece.kind is Kind.VARIABLE:
        return _variable(piece.text, names, depth)
    if piece.kind is Kind.SUBSTITUTION:
        return _substitution(piece.text)
    raise NotKnown(f"{_short(piece.text)} is not evaluated")


def _variable(text: str, names: Names, depth: int) -> str:
    if depth == 0:
        raise NotKnown("variables are nested too deeply")
    if text in tuple("@*#?$!-0123456789"):
        raise NotKnown(f"${text} is known only when the script runs")
    match = _PARAMETER.fullmatch(text)
    if match is None:
        raise NotKnown(f"${{{_short(text)}}} is not evaluated")
    name, operator, rest = match.groups()
    if name in names.doubtful:
        raise NotKnown(names.doubtful[name])
    value = names.values.get(name)
    is_unset = value is None or (value == "" and operator is not None and operator[0] == ":")
    if operator and operator[-1] == "+":
        return "" if is_unset else _join(rest, names, depth)
    if not is_unset and value is not None:
        return value
    if operator and operator[-1] == "-":
        return _join(rest, names, depth)
    if operator and operator[-1] == "=":
        return _default(name, rest, names, depth)
    place = " (it is the cluster's own)" if name in _OF_THE_CLUSTER else ""
    raise NotKnown(f"{name} is not set in this text{place}")


def _default(name: str, text: str, names: Names, depth: int) -> str:
    try:
        names.values[name] = _join(text, names, depth)
    except NotKnown as reason:
        names.forget(name, f"{name}: {reason}")
        raise
    return names.values[name]


def _join(text: str, names: Names, depth: int) -> str:
    return "".join(_text(piece, names, depth - 1) for piece in parts_of(text))


def _substitution(command: str) -> str:
    if _DATE.fullmatch(command):
        # The time of a submission names a run: ours keeps its id in all its attempts.
        return RUN_MARK
    if _DIRNAME.search(command) and not set(";|") & set(command):
        return HERE
    raise NotKnown(f"$({_short(command)}) is not run")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."
