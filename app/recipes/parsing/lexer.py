"""Splits shell text into commands whose words still know what was quoted and what expands.

The part of POSIX shell and bash that launch scripts use: quotes, escapes, continuations, comments,
`$NAME`, `${NAME…}`, substitutions, arrays, redirections and here-documents. Linear in the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = re.compile(r"[^\s'\"\\$`;&|()<>#]+")
_IN_DOUBLE = re.compile(r"[^\"\\$`]+")
_REDIRECT = re.compile(r"[0-9]*(<<<|<<-?|<>|<&|<|>>|>&|>\||>|&>>|&>)")
_ENDS = re.compile(r";;|&&|\|\||;|\||&|\(|\)|\n")
_ARRAY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
# Inside double quotes a backslash escapes only these; one before a line's end joins the lines.
_ESCAPED = re.compile(r"""\\(?:\n|([$`"\\]))""")
_BRACKETS = re.compile(r"[\\'\"(){}]")
_SPACE = re.compile(r"[ \t\r]+")


# A launch script has dozens of commands and a few hundred words.
_MOST_COMMANDS, _MOST_WORDS = 2_000, 3_000


HERE_DOCUMENT = "here-documents (<<) are not read"


class TooMuch(ValueError):
    """More than any launch script holds; the message says what."""


class Kind(StrEnum):
    TEXT = "text"
    VARIABLE = "variable"
    SUBSTITUTION = "substitution"
    ARRAY = "array"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a word. `text` is the literal, the inside of the braces, or the command inside."""

    kind: Kind
    text: str
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """`raw` is the word as written, beginning on `line`."""

    pieces: tuple[Piece, ...]
    raw: str
    line: int


@dataclass(slots=True)
class Command:
    """One simple command. `ended_by` is the operator behind it; `problems` what cannot be read."""

    line: int
    words: list[Word] = field(default_factory=list)
    redirects: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    ended_by: str = "\n"
    text: str = ""


def commands(text: str) -> Iterator[Command]:
    """All commands of a text in order; `(` and `)` end one, too. Raises `TooMuch`."""
    words = 0
    for count, command in enumerate(_Lexer(text).run(), start=1):
        words += len(command.words) + len(command.redirects)
        if count > _MOST_COMMANDS or words > _MOST_WORDS:
            raise TooMuch(
                f"by line {command.line} there are more than {_MOST_COMMANDS:,} commands or "
                f"{_MOST_WORDS:,} words: no launch script is so long"
            )
        yield command


class _Lexer:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._bodies: list[tuple[str, bool, Command]] = []

    def run(self) -> Iterator[Command]:
        while self._at < len(self._text):
            command = self._command()
            if command.words or command.redirects or command.problems or command.ended_by in "()":
                yield command

    def _command(self) -> Command:
        self._skip_blank(skips_newlines=True)
        start, command = self._at, Command(self._line)
        while self._at < len(self._text):
            self._skip_blank()
            if end := _ENDS.match(self._text, self._at):
                if end[0] == "&" and _REDIRECT.match(self._text, self._at):
                    self._redirect(command)
                    continue
                command.text = self._text[start : self._at].strip()
                command.ended_by = end[0]
                self._move(end.end())
                if end[0] == "\n":
                    self._skip_bodies()
                return command
            if self._at >= len(self._text):
                break
            if _REDIRECT.match(self._text, self._at):
                self._redirect(command)
            else:
                command.words.append(self._word(command))
            if len(command.words) + len(command.redirects) > _MOST_WORDS:
                return command
        command.text = self._text[start : self._at].strip()
        for _, _, owner in self._bodies:
            owner.problems.append("a here-document (<<) that does not end")
        self._bodies.clear()
        return command

    def _skip_blank(self, *, skips_newlines: bool = False) -> None:
        text = self._text
        while self._at < len(text):
            if space := _SPACE.match(text, self._at):
                self._at = space.end()
            elif text.startswith(("\\\n", "\\\r\n"), self._at):
                self._move(text.index("\n", self._at) + 1)
            elif text[self._at] == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            elif skips_newlines and text[self._at] == "\n":
                self._move(self._at + 1)
            else:
                return

    def _redirect(self, command: Command) -> None:
        match = _REDIRECT.match(self._text, self._at)
        assert match is not None
        start = self._at
        self._move(match.end())
        self._skip_blank()
        target = self._word(command)
        command.redirects.append(self._text[start : self._at])
        if match[1] in ("<<", "<<-"):
            command.problems.append(HERE_DOCUMENT)
            name = "".join(piece.text for piece in target.pieces)
            self._bodies.append((name, match[1] == "<<-", command))

    def _skip_bodies(self) -> None:
        for name, strips, command in self._bodies:
            while True:
                end = self._text.find("\n", self._at)
                line = self._text[self._at : len(self._text) if end < 0 else end]
                self._move(len(self._text) if end < 0 else end + 1)
                if (line.lstrip("\t") if strips else line).rstrip("\r") == name:
                    break
                if end < 0:
                    command.problems.append("a here-document (<<) that does not end")
                    break
        self._bodies.clear()

    def _word(self, command: Command) -> Word:
        start, line, pieces = self._at, self._line, list[Piece]()
        while self._at < len(self._text):
            if self._text.startswith(("\\\n", "\\\r\n"), self._at):
                self._move(self._text.index("\n", self._at) + 1)
                continue
            found = self._pieces(command, is_first=self._at == start)
            if found is None:
                break
            pieces += found
            if len(pieces) > _MOST_WORDS:
                raise TooMuch(f"a word on line {line} has more than {_MOST_WORDS:,} parts")
        if self._at == start:
            self._move(self._at + 1)
            pieces.append(Piece(Kind.TEXT, self._text[start : self._at]))
        return Word(tuple(pieces), self._text[start : self._at], line)

    def _pieces(self, command: Command, *, is_first: bool) -> list[Piece] | None:
        """What comes next in a word; None where the word ends."""
        text, sign = self._text, self._text[self._at]
        if plain := _PLAIN.match(text, self._at):
            self._at = plain.end()
            if text.startswith("(", self._at) and _ARRAY.fullmatch(plain[0]):
                return [self._array(plain[0])]
            return [Piece(Kind.TEXT, plain[0])]
        if sign == "'":
            return [Piece(Kind.TEXT, self._until("'", command), is_quoted=True)]
        if sign == '"':
            return self._double(command)
        if sign == "\\":
            self._move(min(self._at + 2, len(text)))
            return [Piece(Kind.TEXT, text[self._at - 1], is_quoted=True)]
        if text.startswith(("$'", '$"'), self._at):
            self._at += 1
            if text[self._at] == '"':
                return self._double(command)
            return [Piece(Kind.UNCLEAR, f"$'{self._until(chr(39), command)}'")]
        if sign in "$`":
            return [self._expansion(command)]
        if sign == "#" and not is_first:
            self._at += 1
            return [Piece(Kind.TEXT, sign)]
        return None

    def _array(self, name: str) -> Piece:
        end = self._closing("(", ")")
        inside = self._text[self._at : end]
        self._move(end)
        return Piece(Kind.ARRAY, f"{name}{inside}")

    def _double(self, command: Command) -> list[Piece]:
        # An empty part makes `""` a word.
        pieces = [Piece(Kind.TEXT, "", is_quoted=True)]
        self._at += 1
        while self._at < len(self._text) and self._text[self._at] != '"':
            if plain := _IN_DOUBLE.match(self._text, self._at):
                self._move(plain.end())
                pieces.append(Piece(Kind.TEXT, plain[0], is_quoted=True))
            elif self._text[self._at] == "\\":
                escaped = self._text[self._at : self._at + 2]
                self._move(min(self._at + 2, len(self._text)))
                pieces.append(Piece(Kind.TEXT, _ESCAPED.sub(r"\1", escaped), is_quoted=True))
            else:
                piece = self._expansion(command)
                pieces.append(Piece(piece.kind, piece.text, is_quoted=True))
        if self._at >= len(self._text):
            command.problems.append('a quotation mark (") that is not closed')
        else:
            self._at += 1
        return pieces

    def _expansion(self, command: Command) -> Piece:
        text, start = self._text, self._at
        if text[start] == "`":
            return Piece(Kind.SUBSTITUTION, self._until("`", command))
        if text.startswith("$((", start):
            end = self._closing("(", ")", start + 1)
            self._move(end)
            return Piece(Kind.UNCLEAR, text[start:end])
        if text.startswith("$(", start):
            end = self._closing("(", ")", start + 1)
            self._move(end)
            return Piece(Kind.SUBSTITUTION, text[start + 2 : end - 1])
        if text.startswith("${", start):
            end = self._closing("{", "}", start + 1)
            self._move(end)
            return Piece(Kind.VARIABLE, text[start + 2 : end - 1])
        if name := _NAME.match(text, start + 1):
            self._at = name.end()
            return Piece(Kind.VARIABLE, name[0])
        self._at += 1
        if self._at < len(text) and text[self._at] in "@*#?$!-0123456789":
            self._at += 1
            return Piece(Kind.VARIABLE, text[start + 1 : self._at])
        return Piece(Kind.TEXT, "$")

    def _until(self, mark: str, command: Command) -> str:
        """The text up to the next `mark`, past which it goes; to the end if there is none."""
        start = self._at + 1
        end = self._text.find(mark, start)
        if end < 0:
            command.problems.append(f"a quotation mark ({mark}) that is not closed")
            end = len(self._text)
        self._move(min(end + 1, len(self._text)))
        return self._text[start:end]

    def _closing(self, opening: str, closing: str, start: int | None = None) -> int:
        """The index behind the bracket that closes the one at `start`, quotes left out."""
        depth, quote, skip_to = 0, "", 0
        for found in _BRACKETS.finditer(self._text, self._at if start is None else start):
            sign = found[0]
            if found.start() < skip_to:
                continue
            if sign == "\\":
                skip_to = found.start() + 2
            elif quote:
                quote = "" if sign == quote else quote
            elif sign in "'\"":
                quote = sign
            elif sign == opening:
                depth += 1
            elif sign == closing:
                depth -= 1
                if depth == 0:
                    return found.end()
        return len(self._text)

    def _move(self, to: int) -> None:
        self._line += self._text.count("\n", self._at, to)
        self._at = to
