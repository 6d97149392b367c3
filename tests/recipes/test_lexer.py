"""The shell lexer against bash itself: the same words for the same text."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.recipes.parsing.expand import Names, NotKnown, expand
from app.recipes.parsing.found import Found
from app.recipes.parsing.lexer import TooMuch, commands
from app.recipes.parsing.script import follow

BACKSLASH = "\\"
TEXTS = r"""
a b  c
'a b' "c d"
a\ b "c\"d" 'e\'
a#b #c
a "" '' b
X='a b'; c $X
X="a b"; c "$X" x
X=1; c "${X}2" ${X}4
c ${Y:-d e}
c "${Y:-d e}" x
c "${Y-}" x
X=1; X+=2; c $X x
c "a'b" 'a"b'
X=(a 'b c'); c "${X[@]}"
: ${Z:=q}; c $Z "${Z:+w}"
c a\\b "a\b" "a\\b"
X=; c "$X" $X x
c '["a",1]' ["a",1]
X=a; c "['$X/b']" "[\"$X\"]"
c \$X '$X' "\$X"
c é ü=1 "-x" --y=z
c a=b=c x"y"z
""".strip().splitlines()


def ours(text: str) -> list[str]:
    """The words of the last command behind its program, after what stands before it."""
    names = Names()
    before, _, last = text.rpartition("; ")
    follow(before, Found(), names)
    [command] = commands(last)
    return [text for word in command.words for text in expand(word, names)][1:]


def bash(text: str) -> list[str]:
    before, _, last = text.rpartition("; ")
    program = f"""show() {{ shift; for w; do printf '%s\\0' "$w"; done; }}\n{before}\nshow {last}"""
    answer = subprocess.run(["bash", "-fc", program], capture_output=True, check=True)
    return answer.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize("text", [*TEXTS, "a \\\n  b", 'c "a\\\nb"'])
def test_words_are_those_of_bash(text: str) -> None:
    assert ours(text) == bash(text)


@settings(max_examples=150)
@given(st.text(st.sampled_from("ab '\"\\$#\n"), max_size=12))
def test_quoting_is_that_of_bash(text: str) -> None:
    # What a backslash before the end of all input means is nobody's business.
    quoted = f"c {text.rstrip(BACKSLASH)}"
    answer = subprocess.run(
        ["bash", "-c", f"c() {{ for w; do printf '%s\\0' \"$w\"; done; }}\n{quoted}"],
        capture_output=True,
        check=False,
    )
    listed = list(commands(quoted))
    is_broken = any(command.problems for command in listed)
    if answer.returncode or answer.stderr or is_broken:
        return
    try:
        found = [each for word in listed[0].words for each in expand(word, Names())][1:]
    except NotKnown:
        return
    assert found == answer.stdout.decode().split("\0")[:-1]


@given(st.text(st.sampled_from("a '\"\\$#\n()<>|&;{}`=[]!*~-:?+"), max_size=60))
def test_any_text_ends(text: str) -> None:
    lines = [command.line for command in commands(text)]
    assert lines == sorted(lines)


@pytest.mark.parametrize(
    "text", ["a\n" * 3_000, "a " * 4_000, "$a" * 4_000, "<a " * 4_000, "(" * 3_000]
)
def test_more_than_a_script_holds_is_refused(text: str) -> None:
    with pytest.raises(TooMuch):
        list(commands(text))
