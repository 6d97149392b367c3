"""Names that could be taken for another one: empty to the eye, or mixed of scripts. Pure.

The scripts of a name and the East Asian ones that go together follow Unicode's UTS 39, section 5.2
("highly restrictive"), by the first word of each letter's Unicode name.
"""

import unicodedata

_RESERVED = frozenset({"nobody", "host", "system", "worker"})
"""Whom the audit log and events name besides people, in whatever case."""
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
# What is shown as nothing, although its category says letter, mark or symbol.
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_VARIATION_SELECTORS = (
    *(range(0x180B, 0x1810), range(0xFE00, 0xFE10)),
    range(0xE0100, 0xE01F0),
)
_EAST_ASIAN = frozenset(
    ("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO")
)
_NO_SCRIPT = frozenset({"MODIFIER"})


def spelling_problem(name: str) -> tuple[str, str] | None:
    """The rule that a name in NFKC breaks and what is wrong, in words; None if nothing is."""
    if any(_is_hidden(sign) for sign in name):
        return "printable", "this name holds a sign that cannot be seen: type it without"
    if "/" in name or "\\" in name or name in {".", ".."}:
        return (
            "path",
            "a name is part of addresses: leave out / and \\, and do not use . or .. alone",
        )
    if "  " in name:
        return "blanks", "put one blank between two words, not several"
    if _has_lone_mark(name):
        return "mark", "this name holds an accent or mark without a letter under it"
    if len(scripts := _scripts(name)) > 1:
        mixed = " and ".join(sorted(script.capitalize() for script in scripts))
        return "scripts", f"write a name in one script: this one mixes {mixed} letters"
    if name.casefold() in _RESERVED:
        return "reserved", f"{name} is what the service calls itself: take another name"
    return None


def _is_hidden(sign: str) -> bool:
    if sign in _FILLERS or unicodedata.category(sign) in _HIDDEN_CATEGORIES:
        return True
    is_strange_blank = sign != " " and unicodedata.category(sign) == "Zs"
    return is_strange_blank or any(ord(sign) in each for each in _VARIATION_SELECTORS)


def _has_lone_mark(name: str) -> bool:
    before = " "
    for sign in name:
        is_mark = unicodedata.category(sign)[0] == "M"
        if is_mark and unicodedata.category(before)[0] not in "LMN":
            return True
        before = sign
    return False


def _scripts(name: str) -> set[str]:
    """The scripts of the letters; one where several are commonly written together."""
    letters = (sign for sign in name if unicodedata.category(sign)[0] == "L")
    found = {unicodedata.name(letter, "?").split()[0] for letter in letters} - _NO_SCRIPT
    others = found - _EAST_ASIAN
    if found == others or others <= {"LATIN"}:
        return others
    return others | {"CJK"}
