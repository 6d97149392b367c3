"""Text as words of bash. Whatever the text is, the shell takes it as that text."""

import re
import shlex
from collections.abc import Iterable, Mapping

from app.recipes.model import RUN_ID

_SPECIAL = re.compile(r'([\\"$`])')
# `${run_id}` is an interpolation of SkyRL's parser, not ours.
_OWN = re.compile(rf"(?<!\$){re.escape(RUN_ID)}")


def word(text: str) -> str:
    """One word that is `text`, with the run's id where `{run_id}` stands."""
    pieces = _OWN.split(text)
    if len(pieces) == 1:
        return shlex.quote(text)
    return '"' + "${SKYDECK_RUN_ID}".join(_SPECIAL.sub(r"\\\1", each) for each in pieces) + '"'


def with_run_id(text: str, run_id: str) -> str:
    """What the shell makes of `word(text)` where the run's id is `run_id`."""
    return run_id.join(_OWN.split(text))


def command(*words: str) -> str:
    """A command on lines of its own, a word a line after the first two."""
    head, rest = words[:2], words[2:]
    return " \\\n".join([" ".join(head), *(f"  {each}" for each in rest)]) + "\n"


def exports(environment: Mapping[str, str]) -> str:
    """`export` lines; names are checked before (`app/recipes/job_rules.py`)."""
    return "".join(f"export {name}={word(value)}\n" for name, value in environment.items())


def run_each(commands: Iterable[str]) -> str:
    """Lines that run each text as a bash command of its own; the script ends where one fails."""
    return "".join(f"bash -euo pipefail -c {word(text)}\n" for text in commands)
