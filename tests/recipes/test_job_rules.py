"""What `job.` keys may hold: each rule by an example that breaks it, and one that does not."""

from typing import Any

import pytest

from app.recipes import service

SFT, COMMAND = service.get("visgym-sft-grpo"), service.get("command")
COMMIT = "a" * 40


def rules(recipe_name: str, config: dict[str, Any]) -> set[str]:
    return {each.rule for each in service.validate(service.get(recipe_name), config).errors}


@pytest.mark.parametrize(
    ("config", "rule"),
    [
        ({"job.environment": {"A B": "1"}}, "variable_name"),
        ({"job.environment": {"1A": "1"}}, "variable_name"),
        ({"job.environment": {"SKYDECK_RUN_ID": "x"}}, "variable_name"),
        ({"job.environment": {"RAY_ADDRESS": "x"}}, "variable_name"),
        ({"job.environment": {"PATH": "/evil"}}, "variable_name"),
        ({"job.environment": {"LD_PRELOAD": "/evil.so"}}, "variable_name"),
        ({"job.environment": {"BASH_ENV": "/evil"}}, "variable_name"),
        ({"job.environment": {"HF_TOKEN": "x"}, "job.secrets": "HF_TOKEN"}, "variable_name"),
        ({"job.environment": {f"A{n}": "" for n in range(201)}}, "amount"),
        ({"job.environment": {f"A{n}": "x" * 19_000 for n in range(6)}}, "amount"),
        ({"job.setup_commands": ["true"] * 201}, "amount"),
        ({"job.setup_commands": ["x" * 20_001]}, "list_of_texts"),
        ({"job.environment": {"A": 1}}, "variable_value"),
        ({"job.environment": {"A": "\0"}}, "variable_value"),
        ({"job.environment": {"A": "\ud800"}}, "variable_value"),
        ({"job.environment": ["A"]}, "type"),
        ({"job.setup_commands": [1]}, "list_of_texts"),
        ({"job.setup_commands": [" "]}, "list_of_texts"),
        ({"job.excludes": [["x"]]}, "list_of_texts"),
        ({"job.setup_commands": "pip install x"}, "type"),
        ({"job.working_dir": "/home/me/code"}, "code"),
        ({"job.working_dir": "https://host/repository"}, "code"),
        ({"job.working_dir": "https://host/repository@main"}, "code"),
        ({"job.working_dir": "s3://bucket/code.tar"}, "code"),
        ({"job.working_dir": "upload:12"}, "code"),
        ({"job.base_model_repo": "--help"}, "model_repository"),
        ({"job.base_model_repo": "a/b/c"}, "model_repository"),
        ({"job.base_model_revision": "-x"}, "model_revision"),
        ({"job.base_model_folder": "../x"}, "model_folder"),
        ({"trainer.policy.model.path": "models/x"}, "model_path"),
        ({"data.train_data": ["rows.parquet"]}, "data_path"),
        ({"data.train_data": []}, "data_path"),
        ({"data.train_data": ["/x"], "data.val_data": ["/x"]}, "data_path"),
        ({"job.train_seed_offset": 63}, "seeds_overlap"),
        ({"job.skyrl_dir": "skyrl"}, "skyrl_dir"),
        ({"job.s3_copy": "bucket/{run_id}"}, "s3_copy"),
        ({"job.s3_copy": "s3://bucket/all"}, "s3_copy"),
        ({"job.s3_copy": "s3://bucket/{run_id}", "trainer.ckpt_path": "s3://b/x"}, "s3_copy"),
        ({"job.rows": 1}, "unknown_key"),
    ],
)
def test_what_is_refused(config: dict[str, Any], rule: str) -> None:
    assert rule in rules(SFT.name, config)


@pytest.mark.parametrize(
    "config",
    [
        {"job.environment": {"_A1": "it's $X\n", "PYTHONPATH": "/x", "NCCL_DEBUG": "INFO"}},
        {"job.setup_commands": ["pip install x && echo 'ü'"]},
        {"job.working_dir": f"https://host/owner/repository.git@{COMMIT}"},
        {"job.working_dir": f"git@host:owner/repository@{COMMIT}"},
        {"job.working_dir": "s3://my-bucket/a/code.zip"},
        {"job.working_dir": f"upload:{'0' * 64}"},
        {"job.base_model_repo": ""},
        {"job.train_seed_offset": 64},
        {"job.train_seed_offset": None},
        {"job.make_data": False, "data.train_data": ["owner/dataset"]},
        {"job.s3_copy": "s3://my-bucket/runs/{run_id}"},
    ],
)
def test_what_is_taken(config: dict[str, Any]) -> None:
    assert rules(SFT.name, config) == set()


@pytest.mark.parametrize(
    ("config", "rule"),
    [
        ({"job.entrypoint": " "}, "no_command"),
        ({"job.metric_patterns": ["("]}, "metric_pattern"),
        ({"job.metric_patterns": ["loss (.*)"]}, "metric_pattern"),
        ({"job.metric_patterns": [r"(?P<a>x)(?=y)"]}, "metric_pattern"),
        ({"job.metric_patterns": [r"step=(?P<step>\d+)"]}, "metric_pattern"),
        ({"job.metric_patterns": [r"a=(?P<a>\d)"] * 51}, "metric_pattern"),
        ({"job.metric_patterns": [r"(?P<a>.{900})"]}, "metric_pattern"),
        ({"job.gpus": -1}, "range"),
        ({"trainer.epochs": 1}, "unknown_key"),
    ],
)
def test_what_a_command_may_not_be(config: dict[str, Any], rule: str) -> None:
    assert rules(COMMAND.name, config) == {rule}
    patterns = [r"(?P<key>loss): (?P<value>[0-9.]+)", r"step=(?P<step>\d+)"]
    assert rules(COMMAND.name, {"job.metric_patterns": patterns}) == set()


def test_an_overlap_of_seeds_names_what_would_pass() -> None:
    config = {"job.train_seed_offset": 0}
    [found] = [e for e in service.validate(SFT, config).errors if e.rule == "seeds_overlap"]
    assert found.fix_values is not None
    assert rules(SFT.name, config | dict(found.fix_values)) == set()


def test_skyrls_rules_and_keys_are_asked_too() -> None:
    found = service.validate(SFT, {"trainer.epohcs": 1, "trainer.flash_attn": "x"})
    assert {each.rule for each in found.errors} >= {"unknown_key"}
    assert any("trainer.epochs" in (each.fix or "") for each in found.errors)
    batch = service.validate(
        SFT, {"trainer.train_batch_size": 32, "trainer.policy_mini_batch_size": 16}
    )
    assert not batch.ok
    said = " ".join(each.fix or "" for each in batch.errors)
    assert "train_batch_size 30" in said
    assert "train_batch_size 36" in said


def test_the_embedded_cluster_says_what_it_lacks() -> None:
    found = service.validate(SFT, {}, is_embedded=True)
    [error] = found.errors
    assert error.rule == "embedded_cluster"
    assert "no GPUs" in error.message
    assert service.embedded_refusal(COMMAND) is None
    assert service.embedded_refusal(service.get("embedded-maze-grpo")) is None


def test_a_cluster_must_have_the_gpus() -> None:
    small = service.ClusterResources(name="small", gpus_by_node=(2,))
    large = service.ClusterResources(name="large", gpus_by_node=(2, 2, 2))
    assert not service.validate(SFT, {}, cluster=small).ok
    assert service.validate(SFT, {}, cluster=large).ok


@pytest.mark.parametrize("said", ["0.4.0", "b" * 40, "main"])
def test_another_skyrl_in_the_image_is_a_shown_warning(said: str) -> None:
    found = service.validate(SFT, {"job.skyrl_revision": said})
    assert found.ok
    [warning] = [each for each in found.warnings if each.rule == "skyrl_revision"]
    assert warning.fields == ("job.skyrl_revision",)
    assert said[:8] in warning.message


@pytest.mark.parametrize("said", ["", SFT.tree, (SFT.tree or "")[:8]])
def test_the_skyrl_that_was_checked_against_is_no_warning(said: str) -> None:
    found = service.validate(SFT, {"job.skyrl_revision": said})
    assert not [each for each in found.warnings if each.rule == "skyrl_revision"]
