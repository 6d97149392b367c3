"""Override lists: what is read, what SkyRL would refuse and why, and what must never happen."""

import os
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from omegaconf._yaml import get_yaml_loader

from app.recipes.model import Finding
from app.recipes.skyrl import overrides
from app.recipes.skyrl.overrides import Parsed, check_values, parse_overrides
from app.recipes.skyrl.plain import UnusualError, load_yaml, merge_texts
from app.recipes.skyrl.reading import read, resolve
from app.recipes.skyrl.tree import KeyTree, load_tree
from tests.conformance.skyrl_near import draw
from tests.processor import processor_under

TREE = load_tree("0.4.0")
ENGINE = "generator.inference_engine"
KWARGS = f"{ENGINE}.engine_init_kwargs"
LORA = "trainer.policy.model.lora"


def parse(*args: str) -> Parsed:
    return parse_overrides(args, TREE)


def rules(findings: list[Finding]) -> list[str]:
    return [finding.rule for finding in findings]


def test_no_overrides_give_the_defaults() -> None:
    parsed = parse()
    assert parsed.accepted
    assert parsed.values == {}
    assert parsed.full == TREE.defaults()
    assert not parsed.wrong_types
    assert not parsed.notes


def test_values_are_flat_and_typed_and_later_ones_win() -> None:
    parsed = parse("trainer={epochs: 3, seed: 1}", "trainer.seed=2", f"{KWARGS}.a.b=[1]")
    assert parsed.values == {"trainer.epochs": 3, "trainer.seed": 2, f"{KWARGS}.a.b": [1]}
    assert parsed.read(KWARGS) == {"a": {"b": [1]}}
    assert parsed.read(f"{KWARGS}.a.b") == [1]
    assert parsed.read("trainer.seed") == 2


def test_a_dict_with_unusual_names_stays_whole() -> None:
    parsed = parse(f"{KWARGS}={{a.b: 1, c: 2}}", "generator.chat_template_kwargs={}")
    assert parsed.values == {KWARGS: {"a.b": 1, "c": 2}, "generator.chat_template_kwargs": {}}


def test_a_group_is_read_as_a_nested_dict() -> None:
    parsed = parse("generator.sampling_params.max_generate_length=77")
    assert parsed.read("generator.eval_sampling_params")["max_generate_length"] == 77
    assert parsed.read("trainer.algorithm")["kl_ctrl"] == {
        "type": "fixed", "kl_target": 0.1, "horizon": 10000,
    }  # fmt: skip
    for absent in ("trainer.nothing", f"{KWARGS}.nothing", "trainer.seed.x"):
        with pytest.raises(KeyError):
            parsed.read(absent)


def test_every_mistake_is_found_not_only_the_first() -> None:
    parsed = parse(
        "trainer.sed=1", "+trainer.seed=1", "trainer.tags=[", "data.x=1", "trainer.epochs=2"
    )
    assert sorted(rules(parsed.problems)) == [
        "override_syntax", "plus_prefix", "unknown_key", "unknown_key",
    ]  # fmt: skip
    unknown = next(each for each in parsed.problems if each.fields == ("trainer.sed",))
    assert "trainer.seed" in (unknown.fix or "")
    assert parsed.values["trainer.epochs"] == 2
    assert parsed.full["trainer.epochs"] == 2


def test_a_wrong_type_is_told_apart_from_a_refusal() -> None:
    parsed = parse("trainer.epochs=2.5", "trainer.run_name=20260101")
    assert parsed.accepted
    assert [each.fields for each in parsed.wrong_types] == [
        ("trainer.epochs",),
        ("trainer.run_name",),
    ]
    assert parsed.wrong_types[1].fix_values == {"trainer.run_name": "20260101"}


def test_a_wrong_type_is_said_where_it_was_given_only() -> None:
    parsed = parse("trainer.max_prompt_length=long")
    assert parsed.full["generator.max_input_length"] == "long"
    assert [each.fields for each in parsed.wrong_types] == [("trainer.max_prompt_length",)]
    inside = parse("trainer.seed.x=1", f"{KWARGS}={{1: 2}}")
    assert [each.fields for each in inside.wrong_types] == [("trainer.seed",), (KWARGS,)]


def test_a_single_value_for_a_group_is_named_as_such() -> None:
    assert rules(parse(f"{LORA}=32").problems) == ["group_value"]
    late = parse("trainer.algorithm.kl_ctrl=5")
    assert late.accepted
    assert rules(late.wrong_types) == ["group_value"]


def test_a_default_that_a_group_drops_is_noted() -> None:
    parsed = parse(f"{LORA}.rank=32")
    assert parsed.full["trainer.policy.model.path"] is None
    assert [each.fields for each in parsed.notes] == [("trainer.policy.model.path",)]
    assert "Qwen/Qwen2.5-1.5B-Instruct" in parsed.notes[0].message


def test_what_skyrl_changes_by_itself_is_noted() -> None:
    parsed = parse(
        "trainer.policy.model={path: x, lora: {rank: 8}}", f"{ENGINE}.enforce_eager=true"
    )
    assert parsed.full[f"{ENGINE}.enforce_eager"] is False
    assert rules(parsed.notes) == ["changed_by_skyrl"]


@pytest.mark.parametrize(
    ("args", "rule"),
    [
        (("trainer.seed=1", "trainer.seed=2"), "set_twice"),
        (("trainer.resume_mode",), "no_value"),
        (("trainer.run_name=a #b",), "comment"),
        (("trainer.use_sample_packing=false",), "renamed_key"),
        (("trainer.log_example_interval=5",), "renamed_key"),
        ((f"{ENGINE}.async_engine=true",), "removed_key"),
    ],
)
def test_what_was_hardly_meant_is_noted(args: tuple[str, ...], rule: str) -> None:
    parsed = parse(*args)
    assert parsed.accepted
    assert rules(parsed.notes) == [rule]


@pytest.mark.parametrize(
    "text",
    [
        "${oc.env:SKYDECK_PROBE}",
        "x${oc.env:SKYDECK_PROBE,y}",
        "'${oc.env:SKYDECK_PROBE}'",
        "${oc.${trainer.project_name}:SKYDECK_PROBE}",
        "[a, {b: '${oc.env:SKYDECK_PROBE}'}]",
        "${oc.decode:'${oc.env:SKYDECK_PROBE}'}",
        "${oc.create:'${oc.env:SKYDECK_PROBE}'}",
        "${oc.env:NOT_SET,${oc.env:SKYDECK_PROBE}}",
    ],
)
def test_no_environment_variable_is_ever_read(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKYDECK_PROBE", "secret")
    parsed = parse(f"trainer.run_name={text}", "trainer.project_name=env", "trainer.tags=[a]")
    assert not parsed.accepted
    assert "secret" not in repr(parsed)
    assert parsed.problems[0].rule in ("environment_interpolation", "interpolation")


def test_an_environment_variable_is_explained() -> None:
    problem = parse("trainer.run_name=${oc.env:HOME}").problems[0]
    assert problem.rule == "environment_interpolation"
    assert problem.fields == ("trainer.run_name",)


def test_nothing_is_executed(tmp_path: Any) -> None:
    mark = tmp_path / "mark"
    for text in (
        f"!!python/object/apply:os.system ['touch {mark}']",
        f"!!python/object/new:os.system ['touch {mark}']",
        f"!!python/name:os.system {mark}",
        f"$(touch {mark})",
        f"`touch {mark}`",
    ):
        parse(f"trainer.run_name={text}")
    assert not mark.exists()


def nested(depth: int) -> str:
    return "trainer.tags=" + "[" * depth + "]" * depth


HUGE = {
    "five megabytes": ["trainer.run_name=" + "x" * 5_000_000],
    "ten thousand keys": [f"{KWARGS}.k{number}={number}" for number in range(10_000)],
    "two thousand unknown keys": [f"trainer.x{number}=1" for number in range(2_000)],
    "two thousand broken values": [f"trainer.x{number}=[" for number in range(2_000)],
    "deep lists": [nested(100_000 // 4)],
    "rather deep lists": [nested(33)],
    "deep in one line": ["trainer.tags=" + "- " * 20_000 + "x"],
    "long list": ["trainer.tags=[" + "1," * 30_000 + "]"],
    "deep key": [".".join(["trainer"] + ["a"] * 20_000) + "=1"],
    "long key": [f"trainer.{'a' * 60_000}=1"],
    "aliases": ["trainer.tags=[&a [x,x,x,x,x,x,x,x,x], &b [*a,*a,*a,*a,*a,*a,*a,*a,*a], "
                "&c [*b,*b,*b,*b,*b,*b,*b,*b,*b], [*c,*c,*c,*c,*c,*c,*c,*c,*c]]"],
    "aliases in each": [f"{KWARGS}.k{n}=[&a [1,1,1,1,1,1,1,1], *a,*a,*a,*a]" for n in range(1_500)],
    "alias of itself": ["trainer.tags=&a [*a]"],
    "interpolations": [f"trainer.run_name={'${trainer.seed}' * 3_000}", "trainer.seed=1"],
    "doubling texts": ["trainer.a0=xxxxxxxxxxxxxxxx"]
    + [f"trainer.a{n + 1}=${{trainer.a{n}}}${{trainer.a{n}}}" for n in range(30)],
    "deep interpolations": ["trainer.run_name=" + "${a." * 5_000 + "}" * 5_000],
    "long number": ["trainer.seed=" + "9" * 60_000],
    "long hexadecimal number": ["trainer.seed=0x" + "f" * 60_000],
    "base sixty": ["trainer.seed=1" + ":59" * 20_000],
    "null bytes": ["trainer.run_name=\x00\x01\xff", "\x00=\x00"],
    "half a pair": ["trainer.run_name=\ud800", "\ud800=1"],
}  # fmt: skip


@pytest.mark.parametrize("name", HUGE)
def test_bad_input_gets_a_message_at_once(name: str) -> None:
    with processor_under(1):
        parsed = parse_overrides(HUGE[name], TREE)
    assert parsed.problems or parsed.wrong_types
    assert all(0 < len(each.message) < 2_000 for each in parsed.problems)
    assert parsed.full["trainer.epochs"] == 1


@pytest.mark.parametrize(
    "values",
    [
        {f"{KWARGS}.k{number}": number for number in range(10_000)},
        {KWARGS: {str(number): number for number in range(10_000)}},
        {"trainer.tags": ["x" * 100_000]},
        {f"trainer.{'a' * 1000}": 1},
        {".".join("a" * 100): 1},
    ],
)
def test_large_typed_values_are_refused_too(values: dict[str, Any]) -> None:
    assert rules(check_values(values, TREE).problems) == ["too_large"]


def test_values_within_themselves_are_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert rules(check_values({"trainer.tags": loop}, TREE).problems) == ["too_large"]


def test_keys_and_values_that_no_override_has_are_refused() -> None:
    parsed = check_values({"trainer.tags": {1, 2}, "trainer.seed": 5}, TREE)
    assert rules(parsed.problems) == ["no_override"]
    assert parsed.full["trainer.seed"] == 5
    assert rules(check_values({"+a": 1}, TREE).problems) == ["no_override"]


def test_the_same_key_at_two_depths_is_merged_as_skyrl_does() -> None:
    values = {"trainer.policy.model": {"path": "x"}, f"{LORA}.rank": 8}
    parsed = check_values(values, TREE)
    assert parsed.values == {"trainer.policy.model.path": "x", f"{LORA}.rank": 8}


KEYS = st.sampled_from(
    ["trainer.seed", "trainer.tags", "trainer", KWARGS, f"{KWARGS}.a", f"{KWARGS}.a.b", LORA,
     "trainer.policy", "data.train_data", "data.train_data.x", "trainer.x.y"]
)  # fmt: skip
TEXTS = st.sampled_from(
    ["1", "x", "null", "[1]", "[]", "{}", "{a: 1}", "{a: {b: 2}}", "{a: null}", "{a: [1]}",
     "{b: {c: 1}}", "yes", "", "'x'", "[{a: 1}]", "{1: 2}", "a: b", "2020-01-01"]
)  # fmt: skip


@given(st.lists(st.builds("{}={}".format, KEYS, TEXTS), max_size=5))
def test_the_short_way_reads_what_omegaconf_reads(args: list[str]) -> None:
    try:
        short = merge_texts(args)
    except UnusualError:
        return
    config, problems = read(args)
    assert not problems
    assert short == resolve(config)[0]


OMEGACONF_LOADER = get_yaml_loader()
SCALARS = st.one_of(
    st.from_regex(r"[-+]?[0-9._eE:+-]{1,8}", fullmatch=True),
    st.sampled_from(["1e-3", ".5e3", ".5e+3", "1_0.5", "0o7", "0b1", "2020-01-01", "1:30.5", "=",
                     "yes", "~", ".NaN", "-.inf", "<<", "!x", "0x1F", "1.", "2020-01-01 10:00:00"]),
    st.text(alphabet="ab:,[]{}'\"?-# \n\t%@`|>", max_size=12),
)  # fmt: skip
YAML = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda each: f"[{', '.join(each)}]"),
        st.lists(st.tuples(SCALARS, inner), max_size=3).map(
            lambda each: f"{{{', '.join(f'{key}: {value}' for key, value in each)}}}"
        ),
    ),
    max_leaves=6,
)


@example("{{}: 1}")
@example("{[]: 1}")
@given(YAML)
def test_usual_yaml_is_read_as_omegaconf_reads_it(text: str) -> None:
    try:
        ours = load_yaml(text)
    except (yaml.YAMLError, ValueError):
        return
    # By their texts: NaN is not itself, and 1 is not 1.0.
    assert repr(ours) == repr(yaml.load(text, OMEGACONF_LOADER))


@given(st.lists(st.text(), max_size=3))
def test_no_text_breaks_the_parser(args: list[str]) -> None:
    parsed = parse_overrides(args, TREE)
    assert set(parsed.full) >= {"trainer.epochs", "environment.env_class"} or parsed.problems


@given(st.randoms(use_true_random=False))
def test_no_mistake_near_the_tutorial_breaks_the_parser(random: Random) -> None:
    args = draw(random, TREE)
    parsed = parse_overrides(args, TREE)
    assert parsed.problems or parsed.full.keys() >= {"data.dataloader.num_workers"}
    if parsed.accepted:
        assert check_values(parsed.values, TREE).full.keys() == parsed.full.keys()


def test_a_version_without_a_check_does_not_make_it() -> None:
    args = [
        f"{ENGINE}.enable_return_routed_experts=true",
        "generator.vision_language_generator=true",
    ]
    assert not parse_overrides(args, TREE).accepted
    assert parse_overrides(args, load_tree("a9564572")).accepted


def test_a_tree_of_another_skyrl_is_enough() -> None:
    """As `docker/dump_config_tree.py` may give it one day, without keys that steps look at."""
    tree = KeyTree("later", [{"key": "trainer.epochs", "type": "int", "default": 3}])
    parsed = parse_overrides(["trainer.x=1"], tree)
    assert rules(parsed.problems) == ["unknown_key"]
    assert parsed.full == {"trainer.epochs": 3}


def test_the_environment_stays_as_it_was() -> None:
    before = dict(os.environ)
    parse("trainer.seed=1")
    assert dict(os.environ) == before
    assert overrides.__doc__
