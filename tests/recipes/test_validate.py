"""Rules of configs, each by an example that breaks it and one that just does not."""

import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Invalid, NotFound
from app.maze.eval_sets import EVAL_SETS
from app.recipes import service
from app.recipes.embedded_maze_grpo import EVAL_SET_NAMES
from app.recipes.examine import Place, examine
from app.recipes.model import Field, FieldType, Group, Recipe
from app.recipes.numbers import find_number, find_whole_number
from app.recipes.validate import exact, nearest, read_text, validate
from worker.jobs.maze_grpo.evalsets import UnusableEvalSet, eval_set
from worker.jobs.maze_grpo.mazes import MAX_MOVES

EMBEDDED = service.get("embedded-maze-grpo")
STEPS, RATE = "trainer.max_training_steps", "trainer.policy.optimizer_config.lr"
SMALL = Recipe(
    name="small",
    title="",
    version=1,
    needs="",
    summary="",
    entrypoint=("true",),
    groups=(
        Group(
            "All",
            (
                Field(key="flag", label="Flag", default=True, help=""),
                Field(key="a.count", label="Count", default=2, help="", min=1, max=9),
                Field(key="a.rate", label="Rate", default=0.5, help="", above=0, max=1),
                Field(key="word", label="Word", default="x", help="", choices=("x", "y")),
                Field(key="text", label="Text", default="", help=""),
            ),
        ),
    ),
)


@pytest.mark.parametrize(
    ("config", "rule"),
    [
        ({"flag": 1}, "type"),
        ({"flag": "true"}, "type"),
        ({"a.count": True}, "type"),
        ({"a.count": 1.5}, "type"),
        ({"a.count": "2"}, "type"),
        ({"a.count": None}, "type"),
        ({"a.count": 0}, "range"),
        ({"a.count": 10}, "range"),
        ({"a.rate": 0}, "range"),
        ({"a.rate": 1.01}, "range"),
        ({"a.rate": float("nan")}, "type"),
        ({"a.rate": float("inf")}, "type"),
        ({"a.rate": 10**400}, "type"),
        ({"a.count": -(10**400)}, "type"),
        ({"word": "z"}, "choice"),
        ({"word": ["x"]}, "type"),
        ({"text": "a\nb"}, "characters"),
        ({"text": "a" * 501}, "length"),
        ({"a.cuont": 1}, "unknown_key"),
    ],
)
def test_one_wrong_value(config: dict[str, Any], rule: str) -> None:
    [error] = validate(SMALL, config).errors
    assert (error.rule, error.fields) == (rule, tuple(config))


@pytest.mark.parametrize(
    "config",
    [{}, {"a.count": 1}, {"a.count": 9.0}, {"a.rate": 1}, {"word": "y"}, {"text": "ä $(x)"}],
)
def test_values_at_the_edge_are_right(config: dict[str, Any]) -> None:
    assert validate(SMALL, config).ok


@pytest.mark.parametrize("wrong", [{"trainer.epochs": "x"}, {"job.nothing": 1}])
def test_a_value_that_is_wrong_hides_nothing_of_the_others(wrong: dict[str, Any]) -> None:
    recipe = service.get("visgym-sft-grpo")
    others = {"trainer.sed": 1, "trainer.train_batch_size": 32}
    place = Place(is_embedded=True)
    found = examine(recipe, {**others, **wrong}, place)
    alone = examine(recipe, others, place)
    (key,) = wrong
    assert found.values is None
    assert [e for e in found.findings.errors if key in e.fields]
    rest = [e for e in found.findings.errors if key not in e.fields]
    assert rest == list(alone.findings.errors)
    assert {f for e in rest for f in e.fields} >= {"trainer.sed", "cluster"}


def test_rules_say_nothing_of_a_value_that_is_wrong_by_itself() -> None:
    recipe = service.get("visgym-sft-grpo")
    found = examine(recipe, {"trainer.train_batch_size": "many"}).findings
    said = [e for e in (*found.errors, *found.warnings) if "trainer.train_batch_size" in e.fields]
    assert [each.rule for each in said] == ["type"]
    warned = examine(recipe, {"trainer.ckpt_interval": -1, "trainer.epochs": "x"}).findings
    assert "trap.no_ckpt_interval" in {each.rule for each in warned.warnings}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        ("", "empty"),
        ("x", '"x"'),
        ([None], "[null]"),
        (math.nan, "NaN"),
        (0, "0"),
        (-20_000_000, "-20,000,000"),
    ],
)
def test_a_value_is_shown_as_it_is_typed(value: Any, shown: str) -> None:
    (found,) = validate(EMBEDDED, {STEPS: value}).errors
    assert found.message.endswith(f"not {shown}")


def test_a_bound_is_shown_in_digits() -> None:
    most = next(each for each in EMBEDDED.fields().values() if (each.max or 0) >= 1_000_000)
    assert most.max is not None
    (found,) = validate(EMBEDDED, {most.key: int(most.max) + 1}).errors
    assert f"at most {int(most.max):,}, not {int(most.max) + 1:,}" in found.message


def test_an_unknown_key_gets_the_nearest_ones() -> None:
    assert nearest("a.cuont", ["a.count", "b"]) == ["a.count"]
    assert nearest("trainer.rate", ["a.rate", "b"]) == ["a.rate"]
    assert nearest("zzz", ["a.rate", "b"]) == []


@pytest.mark.parametrize(
    ("config", "rule"),
    [
        ({"trainer.train_batch_size": 4}, "mini_batch_at_most_batch"),
        ({"trainer.train_batch_size": 12}, "batch_divisible"),
        ({"trainer.max_ckpts_to_keep": 0}, "keeps_no_checkpoint"),
    ],
)
def test_errors_over_several_values(config: dict[str, Any], rule: str) -> None:
    assert [error.rule for error in validate(EMBEDDED, config).errors] == [rule]


@pytest.mark.parametrize(
    ("config", "rule"),
    [
        ({"trainer.ckpt_interval": -1}, "no_interval"),
        ({"trainer.eval_interval": 281}, "no_interval"),
        ({"trainer.hf_save_interval": 0}, "no_interval"),
        ({"generator.max_turns": 14}, "turns_too_few"),
        ({"trainer.dump_eval_results": False}, "no_dump"),
    ],
)
def test_traps_are_warnings(config: dict[str, Any], rule: str) -> None:
    found = validate(EMBEDDED, config)
    assert found.ok
    assert [warning.rule for warning in found.warnings] == [rule]


def test_the_defaults_are_without_fault() -> None:
    for recipe in service.list_all():
        assert service.validate(recipe, {}) == service.validate(recipe, recipe.defaults())
        assert service.validate(recipe, {}).ok
    assert validate(EMBEDDED, {}).warnings == ()


def test_a_full_config_has_exact_types() -> None:
    values = service.resolve(EMBEDDED.name, {STEPS: 20.0, RATE: 1})
    assert list(values) == list(EMBEDDED.fields())
    assert (values[STEPS], type(values[STEPS])) == (20, int)
    assert (values[RATE], type(values[RATE])) == (1.0, float)


def test_a_refused_config_names_each_field() -> None:
    config = {"trainer.train_batch_size": 12, "trainer.policy_mini_batch_size": 8}
    with pytest.raises(Invalid) as caught:
        service.resolve(EMBEDDED.name, config)
    assert {problem.field for problem in caught.value.problems} == set(config)


def test_an_unknown_recipe() -> None:
    with pytest.raises(NotFound, match=EMBEDDED.name):
        service.resolve("none", {})


@pytest.mark.parametrize(
    ("key", "typed", "value"),
    [
        ("a.count", " 3 ", 3),
        ("a.count", "3.5", "3.5"),
        ("a.count", "²", "²"),
        ("a.count", "1_0", "1_0"),
        ("a.count", "9" * 5000, "9" * 5000),
        ("a.rate", "nan", "nan"),
        ("a.rate", "1e999", "1e999"),
        ("a.rate", "٣", "٣"),
        ("a.rate", "2e-3", 0.002),
        ("a.rate", "much", "much"),
        ("flag", "TRUE", True),
        ("flag", "yes", "yes"),
        ("word", " y ", "y"),
    ],
)
def test_what_was_typed(key: str, typed: str, value: object) -> None:
    found = read_text(SMALL.fields()[key], typed)
    assert (found, type(found)) == (value, type(value))


@given(st.text(alphabet="0123456789²_+-.eE 	x"))
def test_the_number_reader_never_fails(typed: str) -> None:
    whole, number = find_whole_number(typed), find_number(typed)
    assert whole is None or str(whole) == str(int(typed))
    assert number is None or math.isfinite(number)
    if whole is not None:
        assert number is None or number == float(whole)


def test_each_eval_set_offered_is_one_that_the_trainer_plays() -> None:
    playable = []
    for name in EVAL_SETS:
        with suppress(UnusableEvalSet):
            playable.append(eval_set(name).name)
    assert list(EVAL_SET_NAMES) == playable
    for name in playable:
        assert validate(EMBEDDED, {"data.val_data": name}).warnings == ()


def test_the_turn_limit_is_judged_by_what_training_needs() -> None:
    [warning] = validate(EMBEDDED, {"generator.max_turns": MAX_MOVES}).warnings
    assert warning.fields == ("generator.max_turns",)
    assert validate(EMBEDDED, {"generator.max_turns": MAX_MOVES + 1}).warnings == ()


@given(st.sampled_from(list(SMALL.fields().values())), st.text())
def test_whatever_is_typed_is_a_value_or_an_error(field: Field, typed: str) -> None:
    value = read_text(field, typed)
    if validate(SMALL, {field.key: value}).ok:
        assert isinstance(exact(field, value), type(field.default))


def test_config_values_become_rows() -> None:
    values = {"a": 1, "b": {"c": True, "d": "x" * 600}, "e": 10**400, "f": None}
    rows = {key: (number, text) for key, number, text in service.flatten(values)}
    assert rows["a"] == (1.0, "1")
    assert rows["b.c"] == (1.0, "true")
    assert rows["b.d"] == (None, "x" * 500)
    assert rows["e"][0] is None
    assert len(rows["e"][1]) == 401
    assert rows["f"] == (None, "null")


def test_field_types_come_from_defaults() -> None:
    assert [field.type for field in SMALL.fields().values()] == [
        FieldType.BOOL,
        FieldType.INT,
        FieldType.FLOAT,
        FieldType.TEXT,
        FieldType.TEXT,
    ]
