"""Makes what a server says fit to be shown or kept. Pure.

Its words are untrusted and meant for its own operators: tracebacks with colours, paths, megabytes.
"""

import re
import unicodedata

LONGEST = 300
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_PATH = re.compile(r"(?<![\w:/.])(?:/[\w.+@-]+)+/([\w.+@-]+)")
# Ray Serve LLM around what vLLM said.
_RAY = re.compile(r"^Message: (.*?)(?: \(Request ID: [^)]*\))?, Internal exception: .*", re.DOTALL)
_TRACEBACK = re.compile(r'^\s*File "', re.MULTILINE)
_LOOKED_AT = 20_000


def said(text: str, *, hidden: str = "") -> str:
    """One line of at most `LONGEST` characters, of a traceback the last one, without `hidden`."""
    if hidden:
        text = text.replace(hidden, "***")
    # The cause stands at the end of a traceback, and at the beginning of all else.
    is_traceback = _TRACEBACK.search(text[:_LOOKED_AT]) is not None
    text = text[-_LOOKED_AT:] if is_traceback else text[:_LOOKED_AT]
    text = _ANSI.sub("", text)
    wrapped = _RAY.match(text)
    if wrapped:
        text = wrapped[1]
    if is_traceback:
        text = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    text = _PATH.sub(r"…/\1", text)
    text = " ".join("".join(_visible(sign) for sign in text).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"


def storable(text: str) -> str:
    """The text with U+FFFD for what no database can hold: NUL, and halves of characters.

    Two halves that belong together, as JSON writes them, become their character.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "\ufffd")


def _visible(sign: str) -> str:
    """Spaces for control signs; nothing for those that hide or turn around their neighbours."""
    category = unicodedata.category(sign)
    if category == "Cc":
        return " "
    return "" if category in ("Cf", "Cs", "Co") else sign
