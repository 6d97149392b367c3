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


SFT = "visgym-sft-grpo"


async def test_recipes_say_what_they_follow_and_where_they_differ(api: httpx.AsyncClient) -> None:
    recipe = await get(api, f"/recipes/{SFT}")
    assert recipe["is_builtin_code"] is False
    assert recipe["tree"].startswith("a9564572")
    assert "trainer.ckpt_path" in {each["key"] for each in recipe["differences"]}
    fields = {field["key"]: field for group in recipe["groups"] for field in group["fields"]}
    assert fields["job.environment"]["type"] == "dict"
    assert fields["data.train_data"]["type"] == "list"
    assert fields["generator.max_input_length"]["is_optional"]


async def test_a_wrong_batch_names_what_would_pass(api: httpx.AsyncClient) -> None:
    config = {"trainer.train_batch_size": 32, "trainer.policy_mini_batch_size": 16}
    found = await post(api, "/configs/validate", {"recipe": SFT, "config": config})
    assert not found["ok"]
    [error] = found["errors"]
    assert "trainer.train_batch_size" in error["fields"]
    mended = config | error["fix_values"]
    assert (await post(api, "/configs/validate", {"recipe": SFT, "config": mended}))["ok"]


async def test_the_embedded_cluster_is_not_asked_for_gpus(api: httpx.AsyncClient) -> None:
    found = await post(api, "/configs/validate", {"recipe": SFT, "cluster": "embedded"})
    assert [error["rule"] for error in found["errors"]] == ["embedded_cluster"]
    experiment = await post(api, "/experiments", {"name": "sft", "recipe": SFT})
    answer = await api.post(f"{V1}/experiments/{experiment['id']}/runs", json={})
    assert "no GPUs" in problem(answer, 422)["detail"]


async def test_any_key_of_skyrl_is_kept_with_its_type(api: httpx.AsyncClient) -> None:
    config = {
        "trainer.tags": ["a", "b c"],
        "trainer.flash_attn": False,
        "generator.inference_engine.engine_init_kwargs": {"limit_mm_per_prompt": {"image": 20}},
        "trainer.resume_mode": None,
    }
    made = await post(api, "/experiments", {"name": "typed", "recipe": SFT, "config": config})
    assert config.items() <= made["config"].items()
    again = await get(api, f"/experiments/{made['id']}")
    assert (again["config"], again["digest"]) == (made["config"], made["digest"])
    package = await post(api, "/configs/render", {"recipe": SFT, "config": config})
    assert {"train_job.sh", "train.py", "write_dataset.py"} <= package["files"].keys()
    assert 'trainer.tags=["a", "b c"]' in package["files"]["train_job.sh"]


async def test_an_import_lists_what_it_did_not_understand(api: httpx.AsyncClient) -> None:
    text = (
        "python examples/train/visgym/entrypoint.py --env_variant instruct \\\n"
        "  trainer.epochs=3 trainer.run_name=$NOPE\n"
    )
    found = await post(api, "/configs/import", {"text": text})
    assert found["recipe"] == "visgym-instruct-grpo"
    assert found["config"]["trainer.epochs"] == 3
    [left] = found["unresolved"]
    assert (left["line"], left["text"]) == (2, "trainer.run_name=$NOPE")
    assert "NOPE" in left["reason"]


@pytest.mark.parametrize("text", ["", "\0", "trainer:\n  a: &a [*a]", "x" * 200_000])
async def test_a_text_that_is_none_is_refused(api: httpx.AsyncClient, text: str) -> None:
    answer = await api.post(f"{V1}/configs/import", json={"text": text})
    [entry] = problem(answer, 422)["errors"]
    assert entry["field"] == "text"


async def test_five_megabytes_are_refused(api: httpx.AsyncClient) -> None:
    answer = await api.post(f"{V1}/configs/import", json={"text": "x" * 5_000_000})
    problem(answer, 413)


async def test_configs_are_compared(api: httpx.AsyncClient) -> None:
    one = {"recipe": SFT, "config": {"trainer.epochs": 3, "trainer.tags": ["a"]}}
    found = (await post(api, "/configs/diff", one))["items"]
    assert [(each["key"], each["after"], each["is_new"]) for each in found] == [
        ("trainer.epochs", 3, False),
        ("trainer.tags", ["a"], True),
    ]
    other = {"recipe": SFT, "config": {"trainer.epochs": 3}}
    [change] = (await post(api, "/configs/diff", one | {"other": other}))["items"]
    assert (change["key"], change["is_gone"]) == ("trainer.tags", True)
