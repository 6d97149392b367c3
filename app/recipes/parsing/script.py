"""Follows a launch script from top to bottom, as far as its text says what happens."""

import re
from dataclasses import dataclass

from app.recipes.parsing import lexer, programs
from app.recipes.parsing.arguments import Argument, base_name, flat, without_wrappers
from app.recipes.parsing.expand import Names, NotKnown, array_words, expand, value_of
from app.recipes.parsing.found import Found
from app.recipes.parsing.lexer import Command, Kind, Word

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=(.*)", re.DOTALL)
_OPENERS = {"for": "loop", "while": "loop", "until": "loop", "select": "loop", "case": "case"}
_CLOSERS = {"done": "loop", "esac": "case", "fi": "if"}
_SHELL_WORDS = ("then", "do", "else", "elif", "!", "{", "}", "time", "exec", "nohup")
_NOT_NEEDED = {
    "set": "the job sets its own shell options",
    "shopt": "the job sets its own shell options",
    "trap": "the job ends by itself",
    "mkdir": "folders are made where they are written to",
    "echo": "only prints",
    "printf": "only prints",
    "tee": "the log is kept anyway",
    "true": "does nothing",
    "pwd": "only prints",
    "ls": "only prints",
    "date": "only prints",
    "df": "only prints",
    "free": "only prints",
    "hostname": "only prints",
    "nvidia-smi": "only prints",
    "kill": "only ends what the script started",
    "sleep": "only waits",
    "wait": "only waits",
    **dict.fromkeys(("[", "[[", "test", "command", "which"), "taken as if the condition holds"),
    "exit": "the job ends with the status of its trainer",
}
_PLAIN_PROGRAMS = ("export", "set")
_PLAIN_ENDS = ("\n", ";", "&&")
_DEEPEST = 3


@dataclass(slots=True)
class _Place:
    """`name`: `if`, `loop`, `case` or `function`; `depth` of braces in a function."""

    name: str
    depth: int = 0


def follow(text: str, found: Found, names: Names | None = None, *, depth: int = 0) -> None:
    """Reads a script into `found`; `names` are variables that are set before it starts."""
    _Follower(found, names or Names(), depth).run(text)


class _Follower:
    def __init__(self, found: Found, names: Names, depth: int) -> None:
        self._found = found
        self._names = names
        self._depth = depth
        self._line = 1
        self._places: list[_Place] = []
        self._exported: set[str] = set()

    def run(self, text: str) -> None:
        for command in lexer.commands(text):
            self._look(command)
            if not command.problems:
                self._command(command)
            for redirect in command.redirects if not command.problems else ():
                if "/dev/null" not in redirect and "&" not in redirect:
                    self._found.note(command.line, redirect, "the log is kept anyway")
        if self._places:
            last = max(1, text.count("\n") + 1)
            self._found.fault(last, "", f"the text ends within a {self._places[-1].name}")

    def _look(self, command: Command) -> None:
        if command.problems or command.redirects or command.ended_by not in _PLAIN_ENDS:
            self._found.is_plain = False
        for problem in command.problems:
            is_fault = problem != lexer.HERE_DOCUMENT
            tell = self._found.fault if is_fault else self._found.miss
            tell(command.line, command.text, problem)

    def _command(self, command: Command) -> None:
        self._line = command.line
        words = self._keywords(command)
        if len(words) < len(command.words):
            self._found.is_plain = False
        if self._is_skipped(command, words):
            return
        words = self._assignments(command, words)
        if words:
            self._program(command, [self._argument(word) for word in words])

    def _keywords(self, command: Command) -> list[Word]:
        """Opens and closes blocks; what is left of the command."""
        words = list(command.words)
        while words:
            word = words[0].raw
            if word in _CLOSERS and self._places and self._places[-1].name == _CLOSERS[word]:
                self._places.pop()
            elif word == "if":
                self._places.append(_Place("if"))
            elif word == "function" or (command.ended_by == "(" and len(words) == 1):
                if _is_name(words[-1].raw):
                    self._places.append(_Place("function"))
                return []
            elif word not in _SHELL_WORDS or (word in ("{", "}") and self._in_function()):
                break
            words.pop(0)
        return words

    def _is_skipped(self, command: Command, words: list[Word]) -> bool:
        """Loops, choices and functions are not followed, and each of their lines says so."""
        if not words:
            return True
        opener = _OPENERS.get(words[0].raw)
        if opener:
            self._places.append(_Place(opener))
        inside = next((p for p in self._places if p.name != "if"), None)
        if inside is None:
            return False
        if inside.name == "function":
            inside.depth += sum(word.raw == "{" for word in words)
            inside.depth -= sum(word.raw == "}" for word in words)
            if inside.depth <= 0 and any(word.raw == "}" for word in words):
                self._places.remove(inside)
            if all(word.raw in "{}" for word in words):
                return True
        self._found.miss(command.line, command.text, f"it is in a {inside.name}: not followed")
        self._found.is_plain, self._found.has_commands = False, True
        return True

    def _in_function(self) -> bool:
        return any(place.name == "function" for place in self._places)

    def _assignments(self, command: Command, words: list[Word]) -> list[Word]:
        """Takes `NAME=value` words from the front; before a program they are its environment."""
        given: list[tuple[str, str]] = []
        if words and _ASSIGNMENT.fullmatch(words[0].raw):
            self._found.is_plain = False
        while words and (match := _ASSIGNMENT.fullmatch(words[0].raw)):
            try:
                given.append(self._assign(match, words[0]))
            except NotKnown as reason:
                self._names.forget(match[1], f"{match[1]}: {reason}")
                self._doubt(match, words[0], str(reason))
            words = words[1:]
        if words:
            for name, value in given:
                self._set_environment(name, value)
        return words

    def _assign(self, match: re.Match[str], word: Word) -> tuple[str, str]:
        """Raises `NotKnown`."""
        name = match[1]
        if word.pieces and word.pieces[0].kind is Kind.ARRAY:
            name, self._names.arrays[name] = array_words(word.pieces[0].text, self._names)
            return name, ""
        value = value_of(word, self._names).partition("=")[2]
        if match[2]:
            value = self._names.values.get(name, "") + value
        self._names.set(name, value, is_conditional=bool(self._places))
        if name in self._exported:
            self._set_environment(name, value)
        return name, value

    def _doubt(self, match: re.Match[str], word: Word, reason: str) -> None:
        if match[3].strip('"') in ("$?", "$!", "$$"):
            self._found.note(word.line, word.raw, "known only when the script runs")
        elif match[1] not in programs.OWN_VARIABLES:
            self._found.miss(word.line, word.raw, reason)

    def _argument(self, word: Word) -> Argument:
        try:
            return Argument(tuple(expand(word, self._names)), word.raw, word.line)
        except NotKnown as reason:
            return Argument((), word.raw, word.line, str(reason))

    def _program(self, command: Command, arguments: list[Argument]) -> None:
        written = flat(arguments)
        arguments = without_wrappers(written, self._set_environment)
        if len(arguments) < len(written):
            self._found.is_plain = False
        if not arguments:
            return
        name = base_name(arguments[0])
        if name in ("export", "declare", "typeset", "local", "readonly"):
            self._found.is_plain &= name == "export"
            self._export(command, arguments[1:])
        elif name in (":", "unset"):
            self._variables(name, arguments[1:])
        elif reason := _NOT_NEEDED.get("[[" if arguments[-1].raw == "]]" else name):
            self._found.is_plain &= name in _PLAIN_PROGRAMS
            self._found.note(command.line, command.text, reason)
        elif name == "cd" and self._found.is_own:
            self._found.note(command.line, command.text, "the job enters your code's folder")
        elif name in ("bash", "sh"):
            self._shell(command, arguments[1:])
        elif inner := programs.submitted(arguments, self._found, command):
            before = len(self._found.programs)
            self._found.setup_before = len(self._found.job.get("job.setup_commands", ()))
            self._program(command, inner)
            self._found.handed = self._found.programs[before:]
        elif programs.read(arguments, self._found, command):
            self._found.is_plain &= programs.installs(arguments)
            self._found.has_commands = True
        else:
            programs.keep(arguments, self._found, command)

    def _variables(self, name: str, arguments: list[Argument]) -> None:
        self._found.is_plain = False
        for each in arguments:
            if name == "unset":
                self._names.forget(each.raw, f"{each.raw} is not set in this text")
            elif each.reason:
                self._found.miss(each.line, each.raw, each.reason)

    def _export(self, command: Command, arguments: list[Argument]) -> None:
        for argument in arguments:
            text = argument.words[0] if argument.words else ""
            name, equals, value = text.partition("=")
            own = argument.raw.partition("=")[0]
            if argument.reason or not equals:
                self._found.is_plain = False
            if own in programs.OWN_VARIABLES:
                programs.set_variable(own, value, self._found, argument.line)
            elif argument.reason:
                self._names.forget(own, argument.reason)
                self._found.miss(argument.line, argument.raw, argument.reason)
            elif equals and _is_name(name):
                self._names.set(name, " ".join([value, *argument.words[1:]]))
                self._set_environment(name, self._names.values[name])
            elif _is_name(name):
                self._exported.add(name)
                if name in self._names.values:
                    self._set_environment(name, self._names.values[name])
            elif not text.startswith("-"):
                self._found.miss(command.line, argument.raw, "it is no variable")

    def _shell(self, command: Command, arguments: list[Argument]) -> None:
        inner, rest = _split_shell(arguments)
        self._found.is_plain, self._found.has_commands = False, True
        if inner is not None and self._found.is_own:
            self._own_command(command, inner, is_last=arguments[0].words == ("-c",))
        elif inner is not None and self._depth < _DEEPEST:
            found = Found()
            follow(inner, found, self._names, depth=self._depth + 1)
            programs.merge(self._found, found, command.line)
        elif inner is not None:
            self._found.miss(command.line, command.text, "shells are nested too deeply")
        elif rest and rest[0].words:
            file = rest[0].words[0]
            reason = f"it runs {file}, which is not in this text: paste that file"
            self._found.miss(command.line, command.text, reason)
        else:
            reason = rest[0].reason if rest else "it reads commands that are not in this text"
            self._found.miss(command.line, command.text, reason)

    def _own_command(self, command: Command, text: str, *, is_last: bool) -> None:
        """What our own script of any command runs, as it was given to us."""
        if is_last:
            self._found.programs.append((command.line, text))
        else:
            self._found.job.setdefault("job.setup_commands", []).append(text)

    def _set_environment(self, name: str, value: str) -> None:
        programs.set_variable(name, value, self._found, self._line)


def _split_shell(arguments: list[Argument]) -> tuple[str | None, list[Argument]]:
    """What `bash -c` runs, if that is known; and the arguments behind the options."""
    rest = list(arguments)
    runs_text = False
    while rest and rest[0].words and rest[0].words[0].startswith("-"):
        option = rest.pop(0).words[0]
        is_short = re.fullmatch(r"-[a-z]+", option) is not None
        runs_text = runs_text or (is_short and "c" in option)
        if is_short and option.endswith("o") and rest:
            rest.pop(0)
    return (rest[0].words[0] if runs_text and rest and rest[0].words else None), rest


def _is_name(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", text) is not None
