"""Whatever stands in a config, the rules answer."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.recipes.skyrl.rules import RULES, Context, DataSet, OtherRun, check, skyrl_refuses
from app.recipes.skyrl.tree import load_tree
from tests.processor import processor_under
from tests.recipes.skyrl.rules.tutorial import CLUSTER, HEAD, ids, parse

FULL = parse().full
READ = sorted({field for rule in RULES.values() for field in map(str, rule.fields)})
KEYS = [key for key in READ if load_tree(HEAD).find(key)]
ODD: list[Any] = [
    *(0, -1, 1, 2.5, 10**400, -(10**30), math.nan, math.inf, True, False, None, "", "24", "abc"),
    *("None", "s3://", "/", "~", "\0", "global_step_1", [], [None], ["a", [1]], {}, {"a": {}}),
]
VALUES = st.sampled_from(ODD) | st.integers() | st.floats() | st.text(max_size=20)
KNOWN = Context(
    given={},
    train=DataSet(rows=256, seeds=range(256)),
    evaluation=DataSet(rows=64, seeds=range(64)),
    other_runs=(OtherRun(name="a", ckpt_path="/", lora_sync_path="~"),),
    endpoint_max_lora_rank=32,
)


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=12))
def test_never_raises(values: dict[str, Any]) -> None:
    found = check({**FULL, **values}, cluster=CLUSTER, context=KNOWN)
    for finding in (*found.errors, *found.warnings, *found.notes):
        assert len(finding.message) < 2_000
        assert finding.fields


@given(st.dictionaries(st.text(max_size=30), VALUES, max_size=20))
def test_never_raises_without_the_keys_it_reads(values: dict[str, Any]) -> None:
    check(values, cluster=CLUSTER, context=KNOWN)
    skyrl_refuses(values)


@pytest.mark.parametrize("key", KEYS)
def test_each_odd_value_of_each_key(key: str) -> None:
    for value in ODD:
        check({**FULL, key: value}, cluster=CLUSTER, context=KNOWN)


def test_ten_thousand_keys() -> None:
    many = {**FULL, **{f"trainer.made_up_{n}": n for n in range(10_000)}}
    with processor_under(1):
        assert check(many, cluster=CLUSTER, context=KNOWN).ok


def test_a_number_in_quotes_is_named_once_with_its_fix() -> None:
    errors = check(parse("trainer.train_batch_size='24'").full).errors
    assert [(each.rule, each.fields, each.fix_values) for each in errors] == [
        ("type", ("trainer.train_batch_size",), {"trainer.train_batch_size": 24})
    ]


def test_a_wrong_type_that_was_said_is_not_said_again() -> None:
    said = Context(wrong_types=frozenset({"trainer.train_batch_size"}))
    assert not check(parse("trainer.train_batch_size=abc").full, context=said).errors


def test_types_that_skyrl_takes_are_not_refused() -> None:
    parsed = parse("trainer.policy.optimizer_config.lr=abc", "trainer.epochs=abc")
    assert not skyrl_refuses(parsed.full)


def test_whole_floats_are_counted_with_as_skyrl_does() -> None:
    assert not skyrl_refuses(parse("trainer.train_batch_size=24.0").full)
    assert "V16.train_divides_mini" in ids(
        skyrl_refuses(parse("trainer.train_batch_size=25.0").full)
    )
