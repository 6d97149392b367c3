"""The script: the same bytes each time, no shell in any value, keys that the trainer takes."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.recipes import service
from app.recipes.model import Field, Group, Recipe
from app.recipes.render import SCRIPT, argument, render
from app.recipes.variables import OF_EACH_JOB, OF_EACH_PACKAGE
from tests.recipes.job_stubs import SHELLCHECK
from worker.jobs.maze_grpo.config import Config, parse

EMBEDDED = service.get("embedded-maze-grpo")
# Prints its arguments, one a line, each ended by a zero byte.
ECHO = Recipe(
    name="echo",
    title="",
    version=1,
    needs="",
    summary="",
    entrypoint=("printf", r"%s\0"),
    environment=(("WORD", "it's $HOME"),),
    groups=(Group("All", (Field(key="text", label="Text", default="", help=""),)),),
)


def run(recipe: Recipe, values: dict[str, bool | int | float | str]) -> list[str]:
    answer = subprocess.run(
        ["bash", "-c", render(recipe, values).files[SCRIPT]],
        env={"PATH": "/usr/bin:/bin", "SKYDECK_RUN_ID": "run-x y", "SKYDECK_RUN_DIR": "/tmp/x"},
        capture_output=True,
        check=True,
    )
    return answer.stdout.decode().split("\0")[:-1]


@settings(max_examples=30, deadline=None)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_no_value_reaches_the_shell(text: str) -> None:
    assert run(ECHO, {"text": text}) == ["trainer.run_name=run-x y", f"text={text}"]


@pytest.mark.parametrize("text", ["$(touch x)", "`id`", "'; exit 1; '", '"', "a\\", "!!", "~", "*"])
def test_known_tricks(text: str) -> None:
    assert run(ECHO, {"text": text})[1] == f"text={text}"


def test_the_script_wants_the_run_from_its_environment() -> None:
    script = render(ECHO, {"text": ""}).files[SCRIPT]
    answer = subprocess.run(["bash", "-c", script], env={}, capture_output=True, text=True)
    assert answer.returncode != 0
    assert "SKYDECK_RUN_ID" in answer.stderr


def test_the_same_config_gives_the_same_bytes() -> None:
    values = service.resolve(EMBEDDED.name, {"trainer.seed": 1})
    backwards = dict(reversed(values.items()))
    assert render(EMBEDDED, values) == render(EMBEDDED, backwards)


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (280, "280"), (0.002, "0.002"), (1e-7, "1e-07"), ("x", "x")]
)
def test_values_as_the_trainer_reads_them(value: bool | int | float | str, text: str) -> None:
    assert argument(value) == text


def test_the_trainer_takes_all_keys_and_has_the_same_defaults(tmp_path: Path) -> None:
    full = service.resolve(EMBEDDED.name, {})
    values = {key: value for key, value in full.items() if not key.startswith("job.")}
    arguments = [f"{key}={argument(value)}" for key, value in values.items()]
    config = parse(arguments, run_folder=tmp_path)
    assert config == parse([], run_folder=tmp_path)
    assert values.items() <= Config().as_keys().items()


def test_shellcheck_finds_nothing() -> None:
    script = render(EMBEDDED, service.resolve(EMBEDDED.name, {})).files[SCRIPT]
    answer = subprocess.run(
        [SHELLCHECK, "-"], input=script, capture_output=True, text=True, check=False
    )
    assert answer.stdout == ""


def submitted(recipe: Recipe, changes: dict[str, Any], folder: Path) -> list[str]:
    """What `ray` is called with by the submit command, shown to be a command by running it."""
    (folder / "ray").write_text("#!/bin/bash\nprintf '%s\\0' \"$@\"\n")
    (folder / "ray").chmod(0o755)
    answer = subprocess.run(
        ["bash", "-euc", render(recipe, recipe.defaults() | changes).submit_command],
        env={
            "PATH": f"{folder}:/usr/bin:/bin",
            "RAY_API_SERVER_ADDRESS": "http://a b",
            "SKYDECK_RUN_ID": "run-1",
            "SKYDECK_RUN_DIR": "/r",
        },
        capture_output=True,
        check=True,
    )
    return answer.stdout.decode().split("\0")[:-1]


def variables(words: list[str]) -> dict[str, str]:
    given: dict[str, str] = json.loads(words[words.index("--runtime-env-json") + 1])["env_vars"]
    return given


@pytest.mark.parametrize("name", ["command", "visgym-sft-grpo"])
def test_a_package_is_submitted_as_the_worker_submits_it(name: str, tmp_path: Path) -> None:
    own = {"OUT": "/x/{run_id}", "ODD": 'it\'s "é" `id` \\ !', "PRICE": "5 $USD"}
    words = submitted(service.get(name), {"job.environment": own}, tmp_path)
    assert words[:7] == [
        *("job", "submit", "--address", "http://a b", "--submission-id", "run-1-a1"),
        "--working-dir",
    ]
    assert words[-3:] == ["--", "bash", SCRIPT]
    assert variables(words) == {
        **OF_EACH_PACKAGE,
        "SKYDECK_RUN_ID": "run-1",
        "OUT": "/x/run-1",
        "ODD": own["ODD"],
    }


def test_an_embedded_job_is_submitted_as_the_worker_submits_it(tmp_path: Path) -> None:
    words = submitted(EMBEDDED, {}, tmp_path)
    assert variables(words) == OF_EACH_JOB
    assert words[-3:] == ["SKYDECK_RUN_DIR=/r", "bash", f"/r/{SCRIPT}"]


def test_the_submit_command_says_what_is_not_among_the_files() -> None:
    command = service.get("command")
    plain = render(command, command.defaults()).submit_command
    assert plain.startswith("ray job submit")
    code = f"upload:{'0' * 64}"
    changes = {"job.working_dir": code, "job.secrets": "HF_TOKEN, WANDB_API_KEY"}
    said, names, *rest = render(command, command.defaults() | changes).submit_command.splitlines()
    assert said.endswith(code)
    assert names.endswith("HF_TOKEN, WANDB_API_KEY")
    assert rest == plain.splitlines()


def test_the_submit_command_can_be_imported() -> None:
    own: dict[str, Any] = {"NCCL_DEBUG": "INFO"}
    command = service.get("command")
    values = command.defaults() | {"job.environment": own}
    found = service.import_text(render(command, values).submit_command)
    assert found.config.get("job.environment") == own
    assert [each.reason.partition(",")[0] for each in found.unresolved] == [f"it runs {SCRIPT}"]
