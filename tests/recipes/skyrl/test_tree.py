"""The key tree: lookup, defaults, suggestions, and the revision it belongs to."""

import json
import runpy
import subprocess
import sys
from importlib.metadata import version as package_version
from pathlib import Path

import pytest

from app.recipes.skyrl.tree import KeyTree, compare_revision, load_tree, read_tree, shipped_versions

COMMIT = "a9564572eb8e91076be43c1bd5e4615e3de17265"
TREE = load_tree("0.4.0")
LORA = "trainer.policy.model.lora"
KWARGS = "generator.inference_engine.engine_init_kwargs"


def test_a_key_has_type_default_and_choices() -> None:
    key = TREE.find("trainer.logger")
    assert key is not None
    assert (key.type, key.default, key.name) == ("str", "wandb", "logger")
    assert "console" in key.choices


def test_a_default_is_the_one_after_skyrl_filled_it_in() -> None:
    key = TREE.find("generator.max_input_length")
    assert key is not None
    assert (key.default, key.as_written) == (512, None)


def test_a_default_that_a_group_drops_is_known() -> None:
    key = TREE.find("trainer.critic.optimizer_config.lr")
    assert key is not None
    assert (key.default, key.in_group) == (5e-06, 1e-06)


def test_what_is_no_key_is_not_found() -> None:
    assert TREE.find("trainer.sed") is None
    assert TREE.find(LORA) is None
    assert TREE.is_group(LORA)


def test_a_key_of_ones_own_is_found_inside_a_free_form_dict() -> None:
    key = TREE.find(f"{KWARGS}.limit_mm_per_prompt.image")
    assert key is not None
    assert (key.inside, key.type) == (KWARGS, "Any")
    kwargs = TREE.find(KWARGS)
    assert kwargs is not None
    assert kwargs.is_free_form
    assert not TREE.is_group(KWARGS)


def test_optional_groups_are_one_key_in_the_defaults_unless_skyrl_fills_them() -> None:
    defaults = TREE.defaults()
    assert defaults["trainer.policy.fsdp_config.mixed_precision"] is None
    assert "trainer.policy.fsdp_config.mixed_precision.param_dtype" not in defaults
    assert defaults["generator.eval_sampling_params.temperature"] == 0.0
    assert "generator.eval_sampling_params" not in defaults


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("trainer.sed", "trainer.seed"),
        ("TRAINER.SEED", "trainer.seed"),
        (f"{LORA}.rnk", f"{LORA}.rank"),
        ("generator.num_inference_engines", "generator.inference_engine.num_engines"),
        ("generator.backend", "generator.inference_engine.backend"),
        ("trainer.max_turns", "generator.max_turns"),
        ("n_samples", "generator.n_samples_per_prompt"),
        ("lr", "trainer.policy.optimizer_config.lr"),
    ],
)
def test_the_nearest_keys_hold_the_one_that_was_meant(typed: str, meant: str) -> None:
    assert meant in TREE.nearest(typed)


def test_nothing_is_near_to_nonsense() -> None:
    assert TREE.nearest("zzzzzz") == []
    assert TREE.nearest("") == []


def test_completion_gives_first_what_starts_with_the_text() -> None:
    keys = [key.key for key in TREE.complete("generator.max")]
    assert keys[:2] == ["generator.max_turns", "generator.max_input_length"]
    assert all(key.startswith("generator.max") for key in keys)
    assert "trainer.epochs" in [key.key for key in TREE.complete("EPOCH")]
    assert len(TREE.complete("", limit=7)) == 7


def test_both_versions_are_shipped_and_found_by_short_names() -> None:
    assert set(shipped_versions()) == {"0.4.0", COMMIT}
    assert load_tree("a9564572").version == load_tree(COMMIT).version == COMMIT
    assert load_tree("0.4.0") is TREE
    with pytest.raises(KeyError, match=r"0\.3\.0.*there are 0\.4\.0"):
        load_tree("0.3.0")


@pytest.mark.parametrize(
    ("version", "said", "is_same"),
    [
        ("0.4.0", "0.4.0", True),
        ("0.4.0", "0.3.0", False),
        ("0.4.0", "", False),
        (COMMIT, COMMIT, True),
        (COMMIT, "A9564572EB ", True),
        (COMMIT, "a956", False),
        (COMMIT, "4298730b55bb01fe1b711662df53dca42a3b7615", False),
    ],
)
def test_another_revision_in_the_image_is_a_warning(version: str, said: str, is_same: bool) -> None:
    finding = compare_revision(load_tree(version), said)
    assert (finding is None) == is_same
    if finding is not None:
        assert finding.rule == "skyrl_revision"
        assert "dump_config_tree.py" in (finding.fix or "")


def test_the_images_revision_is_its_commit_or_release(tmp_path: Path) -> None:
    program = Path(__file__).parents[3] / "docker" / "dump_config_tree.py"
    dump = runpy.run_path(str(program))
    assert dump["revision"]("pytest") == package_version("pytest")
    package = tmp_path / "checked_out"
    package.mkdir()
    (package / "__init__.py").touch()
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.test"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *command], check=True)
    head = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()
    sys.path.insert(0, str(tmp_path))
    try:
        assert dump["revision"]("checked_out") == head
    finally:
        sys.path.remove(str(tmp_path))
    with pytest.raises(LookupError, match="neither installed nor"):
        dump["revision"]("no_such_package")


def test_a_dumped_tree_is_read_and_a_wrong_file_refused() -> None:
    text = json.dumps([{"key": "a.b", "type": "int", "default": 1}])
    assert read_tree("mine", text).defaults() == {"a.b": 1}
    for wrong in ('{"a": 1}', '[{"key": "a"}]', '["a"]', "no json"):
        with pytest.raises(ValueError, match=r".+"):
            read_tree("mine", wrong)


def test_every_key_of_a_group_lies_below_it() -> None:
    tree = KeyTree("x", [{"key": "a.b.c", "type": "int", "default": 1}])
    assert tree.groups == {"a", "a.b"}
    assert tree.children("") == ("a",)
    assert tree.children("a.b") == ("c",)
