"""Values as overrides: whatever is written is read back the same, by SkyRL's own parser."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from app.recipes.skyrl.overrides import check_values, parse_overrides
from app.recipes.skyrl.tree import Key, load_tree
from app.recipes.skyrl.value_types import check_type, describe, fits
from app.recipes.skyrl.values import render_override

TREE = load_tree("0.4.0")
TRICKY = st.text(alphabet="${}\\?'\"#:, []&*!|>%@`-~=.abx01eE+_\n\t\x85\u2028\ufeff\x7f\U0001f600")
WORDS = st.sampled_from(
    ["", "null", "None", "true", "Yes", "off", "1e5", "3e-6", "1_000", "017", "0x1F", "1:30", ".5",
     "a: b", "a #b", "a#b", "${x}", "\\${x}", "\\\\${x}", "${oc.env:HOME}", "???", "=", "<<",
     "- x", "'x'", '"x"', "[a]", "{a: b}", "s3://b/p", "2020-01-01", " x ", "~", ".inf", "x\ny"]
)  # fmt: skip
TEXTS = st.text() | TRICKY | WORDS
NUMBERS = st.integers() | st.floats(allow_nan=False) | st.sampled_from([1e-6, 3e-6, 1e16, -0.0])
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_every_value_comes_back_from_skyrls_parser(value: Any) -> None:
    text = render_override("trainer.run_name", value)
    assert text.isprintable()
    config = OmegaConf.to_container(OmegaConf.from_cli([text]), resolve=True)
    assert isinstance(config, dict)
    assert same(config["trainer"]["run_name"], value)


@given(VALUES)
def test_every_value_comes_back_from_our_parser(value: Any) -> None:
    parsed = parse_overrides([render_override("trainer.run_name", value)], TREE)
    assert parsed.accepted
    assert same(parsed.read("trainer.run_name"), value)


@given(st.dictionaries(st.sampled_from([key.key for key in TREE.leaves]), SCALARS, max_size=6))
def test_typed_values_are_judged_as_their_texts_are(values: dict[str, Any]) -> None:
    typed = check_values(values, TREE)
    read = parse_overrides([render_override(key, value) for key, value in values.items()], TREE)
    assert same(typed.full, read.full)
    assert same(typed.values, read.values)
    assert typed.problems == read.problems
    assert typed.wrong_types == read.wrong_types


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("s3://bucket/a-b/c_d", "s3://bucket/a-b/c_d"),
        ("/shared/x.parquet", "/shared/x.parquet"),
        ("20260101", '"20260101"'),
        ("None", "None"),
        ("${RUN}", '"\\\\${RUN}"'),
        (3e-06, "3e-06"),
        (None, "null"),
        (["a", 1, True], '["a", 1, true]'),
        ({"image": 20}, '{"image": 20}'),
        (math.inf, ".inf"),
    ],
)
def test_values_are_written_as_people_write_them(value: Any, text: str) -> None:
    assert render_override("k", value) == f"k={text}"


@pytest.mark.parametrize("key", ["", "+a", "a=b", "a b=", "\\.a"])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="no key"):
        render_override(key, 1)


@pytest.mark.parametrize("value", [b"x", {1, 2}, {(1,): 2}, "\ud800", 10**5000, object()], ids=type)
def test_what_no_override_expresses_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        render_override("k", value)


def test_endless_nesting_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ValueError, match="within each other"):
        render_override("k", value)


@pytest.mark.parametrize(
    ("type_text", "good", "bad"),
    [
        ("int", [0, -5], [True, 1.0, "1", None, 2**63]),
        ("float", [0.5, 1], [True, "1", math.nan, math.inf, None]),
        ("bool", [True], [1, "true", None]),
        ("str", [""], [1, None, ["a"]]),
        ("Optional[int]", [None, 1], [1.5, "null"]),
        ("List[str]", [[], ["a"]], ["a", [1], {"0": "a"}, None]),
        ("Union[bool, int]", [True, 3], [1.5, "true"]),
        ("Optional[Dict[str, Any]]", [None, {}, {"a": [1, {"b": None}]}], ["a", {1: 2}, []]),
        ("dict", [{}], [[], None]),
        ("Literal['a', 'b']", ["a"], ["c", None]),
        ("Any", [None, "x", [1]], [b"x"]),
    ],
)
def test_types_are_checked(type_text: str, good: list[Any], bad: list[Any]) -> None:
    assert all(fits(type_text, value) for value in good)
    assert not any(fits(type_text, value) for value in bad)
    assert describe(type_text)


@pytest.mark.parametrize(
    ("type_text", "value", "better"),
    [
        ("int", "20", 20),
        ("int", 20.0, 20),
        ("float", "3e-6", 3e-6),
        ("bool", "True", True),
        ("bool", 1, True),
        ("str", 20260101, "20260101"),
        ("List[str]", "/x.parquet", ["/x.parquet"]),
        ("Optional[int]", "None", None),
        ("int", "abc", ...),
        ("Optional[int]", "abc", ...),
    ],
)
def test_a_value_of_the_wrong_type_comes_with_a_right_one(
    type_text: str, value: Any, better: Any
) -> None:
    finding = check_type(Key(key="a.b", type=type_text), value)
    assert finding is not None
    assert finding.fields == ("a.b",)
    assert finding.fix_values == (None if better is ... else {"a.b": better})


def test_a_list_of_modules_is_good_where_a_name_is() -> None:
    key = TREE.find("trainer.policy.model.lora.target_modules")
    assert key is not None
    assert check_type(key, ["q_proj", "v_proj"]) is None
    assert check_type(key, [1]) is not None


def same(one: Any, other: Any) -> bool:
    """Equal, of the same types all the way down; -0.0 is not 0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return repr(one) == repr(other)
