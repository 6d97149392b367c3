"""Recipes that are data: complete, checked against SkyRL's own keys, and explained."""

from pathlib import Path
from typing import Any

import pytest

from app.recipes import catalogue, service
from app.recipes.model import JOB, FieldType, Package, Recipe
from app.recipes.parse import parse
from app.recipes.skyrl_checks import tree_of

DATA = Path(__file__).parent / "data"
SKYRL = [recipe for recipe in service.list_all() if recipe.package is Package.SKYRL]
# What a recipe's own defaults are warned of, since it keeps its model's published settings.
KNOWN = {"trap.saves_at_epoch_end", "trap.turns_too_few", "trap.context_of_turns"}


def test_the_recipes_that_are_offered() -> None:
    names = [recipe.name for recipe in service.list_all()]
    assert names[0] == "embedded-maze-grpo"
    assert {"visgym-sft-grpo", "visgym-instruct-grpo", "command"} <= set(names)
    assert [r.name for r in service.list_all() if r.is_builtin_code] == ["embedded-maze-grpo"]


@pytest.mark.parametrize("recipe", service.list_all(), ids=lambda recipe: recipe.name)
def test_each_field_is_explained(recipe: Recipe) -> None:
    assert recipe.version >= 1
    keys = [field.key for group in recipe.groups for field in group.fields]
    assert len(keys) == len(set(keys))
    for field in recipe.fields().values():
        assert field.label
        assert field.help.endswith((".", "…"))
        assert len(field.label) <= 30


@pytest.mark.parametrize("recipe", SKYRL, ids=lambda recipe: recipe.name)
def test_fields_have_skyrls_own_keys_defaults_and_choices(recipe: Recipe) -> None:
    assert recipe.tree is not None
    tree = tree_of(recipe.tree)
    for key, field in recipe.fields().items():
        if key.startswith(JOB):
            continue
        known = tree.find(key)
        assert known is not None, key
        assert recipe.absent.get(key, field.default) == known.as_written, key
        if known.choices:
            assert set(field.choices) == {each for each in known.choices if each is not None}, key


@pytest.mark.parametrize("recipe", SKYRL, ids=lambda recipe: recipe.name)
def test_defaults_are_right_and_their_warnings_are_known(recipe: Recipe) -> None:
    found = service.validate(recipe, {})
    assert found.errors == ()
    assert {each.rule for each in found.warnings} <= KNOWN


def test_the_tutorials_script_differs_in_exactly_the_listed_places() -> None:
    recipe = service.get("visgym-sft-grpo")
    found = parse((DATA / "tutorial_train_job.sh").read_text(), service.get)
    assert (found.recipe, found.unresolved) == (recipe.name, ())
    changes = {
        change.key: change.after for change in service.diff((recipe, {}), (recipe, found.config))
    }
    listed = {each.key: each.theirs for each in recipe.differences}
    assert changes.keys() == listed.keys()
    tree = tree_of(recipe.tree or "")
    for key, theirs in listed.items():
        known = tree.find(key)
        absent = known.as_written if known else None
        assert changes[key] == (absent if theirs is None else theirs), key


@pytest.mark.parametrize("recipe", SKYRL, ids=lambda recipe: recipe.name)
def test_differences_are_real_and_have_reasons(recipe: Recipe) -> None:
    defaults = recipe.defaults()
    for each in recipe.differences:
        assert defaults[each.key] != each.theirs
        assert each.reason.endswith(".")


@pytest.mark.parametrize(
    ("values", "message"), [({"trainer.epohcs": 1}, "epohcs"), ({"nothing": 1}, "nothing")]
)
def test_a_recipe_with_an_unknown_key_is_refused(values: dict[str, Any], message: str) -> None:
    entry = {
        "name": "x",
        "title": "x",
        "version": 1,
        "summary": "x",
        "needs": "x",
        "package": "command",
        "fields": "command_fields.yaml",
        "values": values,
    }
    with pytest.raises(ValueError, match=message):
        catalogue.read(entry)


def test_adding_a_recipe_is_adding_data() -> None:
    entry = {
        "name": "mine",
        "title": "Mine",
        "version": 3,
        "summary": "x",
        "needs": "x",
        "package": "skyrl",
        "tree": SKYRL[0].tree,
        "fields": "skyrl_fields.yaml",
        "values": {"trainer.epochs": 7, "trainer.policy.model.lora.alpha": 8},
    }
    recipe = catalogue.read(entry)
    assert recipe.fields()["trainer.epochs"].default == 7
    assert recipe.absent == {"trainer.epochs": 1, "trainer.policy.model.lora.alpha": 16}
    assert recipe.fields()["generator.max_input_length"].type is FieldType.INT
