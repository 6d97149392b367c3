"""The script: the same bytes each time, no shell in any value, keys that the trainer takes."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.recipes import service
from app.recipes.model import Field, Group, Recipe
from app.recipes.render import SCRIPT, argument, render
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
