"""Configs that were stored before the recipe got some of its keys: they still check and render."""

import pytest

from app.recipes import service
from app.recipes.model import JOB, Recipe

RECIPES = service.list_all()


def job_keys(recipe: Recipe) -> list[str]:
    return [key for key in recipe.fields() if key.startswith(JOB)]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda each: each.name)
def test_each_job_key_may_be_missing(recipe: Recipe) -> None:
    full = service.complete(recipe, {})
    rendered = service.render(recipe, full)
    for key in job_keys(recipe):
        older = {name: value for name, value in full.items() if name != key}
        assert service.validate(recipe, older) == service.validate(recipe, full), key
        assert service.render(recipe, older) == rendered, key


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda each: each.name)
def test_all_of_them_may_be_missing_at_once_and_in_any_order(recipe: Recipe) -> None:
    full = service.complete(recipe, {})
    older = {key: full[key] for key in reversed(full) if not key.startswith(JOB)}
    assert service.render(recipe, older) == service.render(recipe, full)
    found = service.examine(recipe, older)
    assert (found.values or full).keys() == full.keys()


@pytest.mark.parametrize("recipe", [each for each in RECIPES if each.tree], ids=lambda r: r.name)
def test_what_was_stored_counts_and_not_todays_default(recipe: Recipe) -> None:
    script = service.render(recipe, {"trainer.seed": 987654}).files["train_job.sh"]
    assert "trainer.seed=987654" in script
