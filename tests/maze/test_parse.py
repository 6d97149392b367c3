import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.maze.literal import MAX_CHARACTERS, read_literal
from app.maze.parse import (
    KEYWORDS,
    Dialect,
    extract_keyword,
    extract_tuple,
    has_valid_format,
    parse,
    spell,
)
from tests.processor import processor_under

# Texts made of what the searches look for find more than random letters do.
FRAGMENTS = [
    *[
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "'",
        '"',
        "\\",
        ",",
        ":",
        "-",
        "`",
        "```",
        "\n",
        " ",
        "0",
        "move",
    ],
    *["('move', 0)", "('stop', 'stop')", "(move, 1)", "('a',"],
    *["<action>", "</action>", "<observation>", "</observation>", "left", "<justification>"],
    *["</justification>", "stop", "\x00", "\ud800", "é"],
]
answers = st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join) | st.text()
# Words in which no dialect finds an action.
prose = st.text(alphabet="abc ,.:;!?\n", max_size=50)


@given(answers)
def test_a_matched_tuple_is_a_literal_pair(answer: str) -> None:
    parsed = extract_tuple(answer)
    if parsed.matched:
        assert len(ast.literal_eval(parsed.action)) == 2
    else:
        assert parsed.action == answer.strip()


@given(answers)
def test_a_matched_keyword_is_one_of_five(answer: str) -> None:
    parsed = extract_keyword(answer)
    assert parsed.action in (KEYWORDS.values() if parsed.matched else {answer.strip()})


@given(prose, st.sampled_from(sorted(KEYWORDS)), prose, st.sampled_from(Dialect))
def test_an_action_within_prose_is_found(
    before: str, keyword: str, after: str, dialect: Dialect
) -> None:
    answer = before + spell(keyword, dialect) + after
    assert parse(answer, dialect) == (KEYWORDS[keyword], True)


@given(st.lists(st.sampled_from(sorted(KEYWORDS)), min_size=1), prose)
def test_the_first_tuple_and_the_last_keyword_count(keywords: list[str], between: str) -> None:
    tuples = between.join(spell(keyword, Dialect.TUPLE) for keyword in keywords)
    tags = between.join(spell(keyword, Dialect.KEYWORD) for keyword in keywords)
    assert extract_tuple(tuples).action == KEYWORDS[keywords[0]]
    assert extract_keyword(tags).action == KEYWORDS[keywords[-1]]


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ("```\n(move, 2)\n```", "('move', 2)"),
        ("(row, 1) but rather ('move', 0)", "('move', 0)"),
        ("('a', 1, 2) then ('move', 0)", "('move', 0)"),
        ("(far, away) so (up, 1) or (move, 1)", "('up', 1)"),
    ],
)
def test_ways_to_write_a_tuple(answer: str, action: str) -> None:
    assert extract_tuple(answer) == (action, True)


@pytest.mark.parametrize(
    ("answer", "valid"),
    [
        ("<observation>o</observation><justification>j</justification><action>a</action>", True),
        (
            "<action>a</action> <justification>\nj\n</justification><observation>o</observation>",
            True,
        ),
        ("<observation> </observation><justification>j</justification><action>a</action>", False),
        ("<observation>o<justification>j</justification><action>a</action>", False),
        ("<Observation>o</Observation><justification>j</justification><action>a</action>", False),
        ("", False),
    ],
)
def test_format_needs_three_filled_tags(answer: str, valid: bool) -> None:
    assert has_valid_format(answer) == valid


_HOSTILE = {
    "open brackets": "(" * 1_000_000,
    "open tuples": "('a'," * 200_000,
    "bare open tuples": "(a," * 300_000,
    "deep tuple": "('a', " + "(" * 100_000 + ")" * 100_000 + ")",
    "unary chain": "('a', " + "-" * 500_000 + "1)",
    "short unary chains": ("('a', " + "-" * 900 + "1)") * 1_000,
    "sum chain": "('a', " + "1+" * 400 + "1j)",
    "huge integer": "('move', " + "9" * 1_000_000 + ")",
    "failing pairs": "('a', x)" * 100_000,
    "open strings": "('a', '" * 100_000,
    "blanks": "(" + " " * 1_000_000,
    "long name": "(" + "a" * 1_000_000,
    "backticks": "`" * 1_000_000,
    "open tags": "<action>" * 200_000,
    "tag then blanks": "<action>" + " " * 1_000_000,
    "open format tags": "<observation>" * 200_000,
    "backslashes": "('a', '" + "\\" * 1_000_000,
    "zero bytes": "('a', '" + "\x00" * 500 + "')",
}


@pytest.mark.parametrize("name", _HOSTILE)
def test_hostile_answers_neither_crash_nor_hang(name: str) -> None:
    answer = _HOSTILE[name]
    with processor_under(3.0):
        extract_tuple(answer)
        extract_keyword(answer)
        has_valid_format(answer)


def test_literals_end_at_a_limit() -> None:
    assert read_literal("1" * 9) == 111111111
    with pytest.raises(ValueError, match="too many"):
        read_literal(" " * MAX_CHARACTERS + "1")
