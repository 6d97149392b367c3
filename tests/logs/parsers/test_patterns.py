"""People's own patterns: what may be one, what they find, and what they may cost."""

import pytest

from app.logs.parsers.patterns import (
    MAX_MATCHES,
    MAX_PATTERN_CHARS,
    MAX_PATTERN_SIZE,
    MAX_PATTERNS,
    BadPattern,
    Match,
    MetricPatterns,
    TooSlow,
    compile_all,
    compile_pattern,
)


def find(line: str, *patterns: str) -> list[Match]:
    return usable(*patterns).find(line.encode(), is_late=lambda: False)


def usable(*patterns: str) -> MetricPatterns:
    found, bad = compile_all(patterns)
    assert not bad
    assert found is not None
    return found


def test_named_groups_are_metrics() -> None:
    pattern = r"step (?P<step>\d+): loss (?P<loss>\S+), acc (?P<eval__acc>\S+)"
    assert find("step 7: loss 0.5, acc 91%", pattern) == [Match(7, {"loss": 0.5, "eval/acc": 91})]


def test_key_and_value_find_all_of_a_line() -> None:
    pattern = r"(?P<key>[\w/]+)=(?P<value>\S+)"
    assert find("step=1 loss=0.5 name=x a/b=2", pattern) == [
        Match(1, {}),
        Match(None, {"loss": 0.5}),
        Match(None, {}),
        Match(None, {"a/b": 2.0}),
    ]


def test_a_group_that_took_no_part_finds_nothing() -> None:
    assert find("acc 1", r"loss (?P<loss>\S+)|acc (?P<acc>\S+)") == [Match(None, {"acc": 1.0})]


@pytest.mark.parametrize(
    ("pattern", "line", "expected"),
    [
        (r"(?i)LOSS (?P<a>\d)", "loss 1", {"a": 1.0}),
        (r"^a (?P<a>\d)$", "a 1", {"a": 1.0}),
        (r"^a (?P<a>\d)$", "a a 1", {}),
        (r"ü (?P<a>\d)", "ü 1", {"a": 1.0}),
        (r"(?P<ü>\d)", "1", {"ü": 1.0}),
        (r"(?P<a>\d*)", "x", {}),
    ],
)
def test_syntax(pattern: str, line: str, expected: dict[str, float]) -> None:
    found: dict[str, float] = {}
    for match in find(line, pattern, "unrelated (?P<x>x)"):
        found |= match.values
    assert found == expected


@pytest.mark.parametrize("key", ["skydeck/eval/solve_rate", "k" * 201, "a\x07b", "''"])
def test_a_key_that_no_series_may_have_is_left_out(key: str) -> None:
    line = f"{key}=1 ok=2"
    assert [match.values for match in find(line, r"(?P<key>[^= ]+)=(?P<value>\d)")] == [
        {},
        {"ok": 2.0},
    ]


@pytest.mark.parametrize(
    ("pattern", "said", "fix"),
    [
        ("(", "missing )", "RE2"),
        (r"(?<=a)(?P<a>b)", "invalid perl operator", "look-behind"),
        (r"(?P<a>b)\1", "invalid escape sequence", "back-references"),
        (r"(?P<a-b>b)", "invalid named capture group", "RE2"),
        ("\ud800(?P<a>b)", "no text", "RE2"),
        (r"(?P<a>b)\Qc", "missing )", "RE2"),
        ("loss (.*)", "no group with a name", "loss: (?P<loss>"),
        (r"(?P<key>\w+)", "only one of the groups key and value", "take both"),
        (r"(?P<value>\w+)", "only one of the groups key and value", "take both"),
        (r"(?P<a>x)|(?P<a>y)", "two groups named a", "two patterns"),
        (r"(?P<skydeck__solved>\d)", "skydeck/solved is no name", "another"),
        (r"(?P<a>b{1000}){1000}", "invalid repetition size", "RE2"),
        (r"(?P<a>.{900})", "too large", "repeat less"),
        ("a" * MAX_PATTERN_CHARS + "(?P<a>b)", "more than 1,000 characters", "several"),
    ],
)
def test_what_is_no_pattern(pattern: str, said: str, fix: str) -> None:
    with pytest.raises(BadPattern) as caught:
        compile_pattern(pattern)
    assert said in caught.value.message
    assert fix in caught.value.fix
    assert len(caught.value.message) < 200


def test_a_bad_pattern_costs_only_itself() -> None:
    found, bad = compile_all(("(", r"a=(?P<a>\d)"))
    assert found is not None
    assert found.find(b"a=1", is_late=lambda: False) == [Match(None, {"a": 1.0})]
    assert len(bad) == 1
    assert compile_all(("(",))[0] is None


def test_as_many_and_as_large_patterns_as_may_be() -> None:
    patterns = [rf"x.{{120}}y.{{120}}(?P<a{n}>\d)" for n in range(MAX_PATTERNS)]
    size = compile_pattern(patterns[0]).regex.programsize
    assert MAX_PATTERN_SIZE * 0.9 < size <= MAX_PATTERN_SIZE
    line = "x" + "." * 120 + "y" + "." * 120 + "5"
    assert len(find(line, *patterns)) == MAX_PATTERNS
    assert find(line[1:], *patterns) == []


def test_matches_in_a_line_are_bounded() -> None:
    assert len(find("1" * 2 * MAX_MATCHES, r"(?P<a>\d)")) == MAX_MATCHES


def test_no_more_is_tried_once_it_is_late() -> None:
    answers = iter([False, False, True])
    patterns = usable(r"(?P<a>\d)")
    with pytest.raises(TooSlow):
        patterns.find(b"123", is_late=lambda: next(answers))
    assert list(answers) == []


@pytest.mark.parametrize("pattern", [r"(x+x+)+(?P<y>y)", r"(?P<a>(a|a)*)b", r"(.*)*(?P<z>z)"])
def test_patterns_that_other_engines_never_finish(pattern: str) -> None:
    assert find("x" * 8_192 + "a" * 8_192, pattern) == []


def test_patterns_find_together_what_each_finds_alone() -> None:
    patterns = [r"(?i)A(?P<a>\d)", r"A(?P<b>\d)|^(?P<c>x)", r"(?s)\Q.\E(?P<d>.)$", r"(?P<a>z)\z"]
    for line in ("a1 A2", "x .y", ".5", "z"):
        alone = [match for pattern in patterns for match in find(line, pattern)]
        assert find(line, *patterns) == alone
    assert find("a1 A2", *patterns) == [
        Match(None, {"a": 1.0}),
        Match(None, {"a": 2.0}),
        Match(None, {"b": 2.0}),
    ]
