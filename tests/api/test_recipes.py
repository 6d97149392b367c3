"""Recipes, and configs before they are launched."""

import httpx
import pytest

from tests.api.helpers import RECIPE, V1, get, post, problem


async def test_a_recipe_has_the_fields_of_its_form(api: httpx.AsyncClient) -> None:
    listed = (await get(api, "/recipes"))["items"]
    recipe = await get(api, f"/recipes/{RECIPE}")
    assert recipe in listed
    fields = {field["key"]: field for group in recipe["groups"] for field in group["fields"]}
    assert fields["trainer.max_training_steps"]["type"] == "int"
    assert fields["trainer.policy.optimizer_config.lr"]["default"] == 0.002
    assert "easy-solvable-15" in fields["data.val_data"]["choices"]
    assert all(field["help"] for field in fields.values())


async def test_an_unknown_recipe_names_the_known_ones(api: httpx.AsyncClient) -> None:
    assert RECIPE in problem(await api.get(f"{V1}/recipes/none"), 404)["detail"]


async def test_validation_tells_errors_and_changes_nothing(api: httpx.AsyncClient) -> None:
    config = {"trainer.policy.optimizer_config.l": 1, "trainer.seed": "x"}
    found = await post(api, "/configs/validate", {"recipe": RECIPE, "config": config})
    assert not found["ok"]
    assert [error["rule"] for error in found["errors"]] == ["unknown_key", "type"]
    assert "trainer.policy.optimizer_config.lr" in found["errors"][0]["suggestion"]


async def test_validation_tells_warnings(api: httpx.AsyncClient) -> None:
    body = {"recipe": RECIPE, "config": {"generator.max_turns": 9}, "cluster": "embedded"}
    found = await post(api, "/configs/validate", body)
    assert found["ok"]
    assert [(w["rule"], w["fix"]) for w in found["warnings"]] == [
        ("turns_too_few", "take 15 turns")
    ]


async def test_validation_wants_a_known_cluster(api: httpx.AsyncClient) -> None:
    body = {"recipe": RECIPE, "cluster": "elsewhere"}
    problem(await api.post(f"{V1}/configs/validate", json=body), 404)


async def test_rendering_gives_the_same_bytes(api: httpx.AsyncClient) -> None:
    body = {"recipe": RECIPE, "config": {"trainer.seed": 7}}
    first, second = [await post(api, "/configs/render", body) for _ in range(2)]
    assert first == second
    assert "trainer.seed=7" in first["files"]["train_job.sh"]
    assert "SKYDECK_RUN_ID" in first["submit_command"]


@pytest.mark.parametrize("config", [{"x": 1}, {"trainer.seed": None}, []])
async def test_a_wrong_config_is_not_rendered(api: httpx.AsyncClient, config: object) -> None:
    body = {"recipe": RECIPE, "config": config}
    problem(await api.post(f"{V1}/configs/render", json=body), 422)
