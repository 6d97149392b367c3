"""Imports: what is understood becomes a config, everything else is listed with its line."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import Invalid
from app.recipes import service, skyrl_checks
from app.recipes.parse import Imported
from app.recipes.render import SCRIPT
from tests.processor import processor_under

SFT = "visgym-sft-grpo"
MAIN = "python examples/train/visgym/entrypoint.py --env_variant sft "


def read(text: str) -> Imported:
    return service.import_text(text)


def left(text: str) -> list[tuple[int, str]]:
    return [(each.line, each.reason) for each in read(text).unresolved]


@pytest.mark.parametrize("number", ["1e999", ".nan", "-.inf"])
def test_a_number_without_end_is_named_in_a_dump(number: str) -> None:
    with pytest.raises(Invalid, match="number without end"):
        read(f'{{"trainer.epochs": {number}}}')


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        (f"{MAIN} trainer.epochs=3", "trainer.epochs", 3),
        (f"{MAIN} \\\n  trainer.epochs=3 \\\n  # no", "trainer.epochs", 3),
        (f"{MAIN} trainer.run_name='a b'", "trainer.run_name", "a b"),
        (f"{MAIN} 'trainer.tags=[a, \"b c\"]'", "trainer.tags", ["a", "b c"]),
        (f"N=4\n{MAIN} trainer.epochs=$N", "trainer.epochs", 4),
        (f"N=4; M=${{N}}0\n{MAIN} trainer.epochs=${{M}}", "trainer.epochs", 40),
        (f": ${{N:=5}}\n{MAIN} trainer.epochs=$N", "trainer.epochs", 5),
        (f"{MAIN} trainer.epochs=${{N:-6}}", "trainer.epochs", 6),
        (f"ID=$(date +%s)\n{MAIN} trainer.run_name=x_$ID", "trainer.run_name", "x_{run_id}"),
        (f"ID=`date`\n{MAIN} trainer.run_name=$ID", "trainer.run_name", "{run_id}"),
        (f"{MAIN} trainer.run_name=$SKYDECK_RUN_ID", "trainer.run_name", "{run_id}"),
        (f"E='trainer.epochs=2 trainer.seed=1'\n{MAIN} $E", "trainer.seed", 1),
        (f"A=(trainer.epochs=2 trainer.seed=1)\n{MAIN} \"${{A[@]}}\"", "trainer.seed", 1),
        (f"A=1 {MAIN} trainer.epochs=2", "job.environment", {"A": "1"}),
        (f"export A=1\nB=2\nexport B\n{MAIN}", "job.environment", {"A": "1", "B": "2"}),
        (f"cd /srv/skyrl && {MAIN}", "job.skyrl_dir", "/srv/skyrl"),
        (MAIN.replace(" examples", " /srv/s/examples"), "job.skyrl_dir", "/srv/s"),
        (f"pip install 'a b'\n{MAIN}", "job.setup_commands", ["pip install 'a b'"]),
        (f"uv run --isolated --extra fsdp {MAIN} trainer.seed=3", "trainer.seed", 3),
        (f"exec env A=1 {MAIN} trainer.seed=3 2>&1 | tee log", "job.environment", {"A": "1"}),
        (f"bash -c '{MAIN} trainer.seed=3'", "trainer.seed", 3),
        (f"if [[ -f x && -z $X ]]; then\n{MAIN} trainer.seed=3\nfi", "trainer.seed", 3),
        (f"ID=${{ID:-$(date +%s)}}\n{MAIN} trainer.run_name=$ID", "trainer.run_name", "{run_id}"),
        (f"{MAIN} trainer.seed=1 trainer.seed=2", "trainer.seed", 2),
        (f"{MAIN} trainer.resume_mode=null", "trainer.resume_mode", None),
        ("trainer.epochs=3\n\n# more\ntrainer.tags=[a, b]", "trainer.tags", ["a", "b"]),
        ("trainer.epochs=3 trainer.seed=4", "trainer.seed", 4),
        ('["trainer.epochs=3"]', "trainer.epochs", 3),
        ("trainer:\n  policy: {model: {lora: {rank: 8}}}", "trainer.policy.model.lora.rank", 8),
        ("trainer.run_name=a b trainer.seed=4", "trainer.run_name", "a b"),
        ('{"trainer.epochs": 3}', "trainer.epochs", 3),
        ("recipe: visgym-sft-grpo\nconfig:\n  trainer: {epochs: 3}", "trainer.epochs", 3),
    ],
)  # fmt: skip
def test_what_is_understood(text: str, key: str, value: Any) -> None:
    found = read(text)
    assert found.recipe == SFT
    assert found.config[key] == value
    assert found.unresolved == ()


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (f"\n{MAIN} \\\n trainer.epochs=$N", 3, "N is not set"),
        (f"N=$(nproc)\n{MAIN}", 1, "not run"),
        (f"N=$((1+1))\n{MAIN}", 1, "not evaluated"),
        (f"N=${{X%y}}\n{MAIN}", 1, "not evaluated"),
        (f"{MAIN} trainer.ckpt_path=$HOME/x", 1, "HOME"),
        (f"{MAIN} trainer.tags=[a", 1, "cannot be read"),
        (f"{MAIN} +trainer.epochs=1", 1, "leading +"),
        (f"{MAIN} --verbose", 1, "no key=value"),
        (f"cat > x <<EOF\n{MAIN}\nEOF\n{MAIN}", 1, "here-document"),
        (f"for n in 1 2; do\n{MAIN} trainer.seed=$n\ndone\n{MAIN}", 2, "loop"),
        (f"f() {{\n{MAIN}\n}}\n{MAIN}", 2, "function"),
        (f"source env.sh\n{MAIN}", 1, "source is not known"),
        (f"bash other.sh\n{MAIN}", 1, "other.sh"),
        (f"{MAIN}\n{MAIN}", 2, "second trainer"),
        (f"if true; then N=1; else N=2; fi\n{MAIN} trainer.epochs=$N", 2, "different values"),
        (f"{MAIN} trainer.run_name='a", 1, "not closed"),
        (f"huggingface-cli download a/b --local-dir /x\n{MAIN}", 1, "not downloaded to"),
        (f"python examples/train/visgym/dataset.py --output_dir /x\n{MAIN}", 1, "seeded eval rows"),
        ("ray job submit --working-dir . -- bash train_job.sh", 1, "train_job.sh"),
        (f"ray job submit --runtime-env-json '{{\"pip\": []}}' -- {MAIN}", 1, "pip"),
        ("true", 1, "no command"),
    ],
)
def test_what_is_not_understood_is_listed(text: str, line: int, reason: str) -> None:
    assert any(at == line and reason in said for at, said in left(text)), left(text)


@pytest.mark.parametrize(
    ("text", "config", "unresolved"),
    [
        (
            "- trainer.seed=1\n- trainer.epochs=2",
            {"trainer.seed": 1, "trainer.epochs": 2},
            [],
        ),
        (
            'trainer.seed=1 \\\n trainer.epochs=2 \\\n "$@"',
            {"trainer.seed": 1, "trainer.epochs": 2},
            [],
        ),
        ("trainer.seed=1 \\\n trainer.epochs=$E foo", {"trainer.seed": 1}, [2, 2]),
        ("trainer.logger", {}, [1]),
        ("--trainer.seed=1", {}, [1]),
        (
            "trainer:\n  seed: 4\n  epochs: 2\n  seed: 5",
            {"trainer.seed": 5, "trainer.epochs": 2},
            [2],
        ),
        ('{"trainer.seed": 4, "trainer.seed": 5}', {"trainer.seed": 5}, [1]),
    ],
)
def test_lists_of_overrides_in_odd_shapes(
    text: str, config: dict[str, Any], unresolved: list[int]
) -> None:
    found = read(text)
    assert found.config == config
    assert [each.line for each in found.unresolved] == unresolved


def test_a_here_document_is_listed_once_and_explained() -> None:
    found = read("python - <<'PY'\nprint(1)\nPY\n" + MAIN)
    assert [each.line for each in found.unresolved] == [1]
    assert not any("log" in each.reason for each in found.notes)


def test_a_submit_command() -> None:
    found = read(
        "ray job submit --address http://head:8265 --submission-id x --working-dir . \\\n"
        '  --runtime-env-json \'{"env_vars": {"A": "1"}}\' \\\n'
        f"  -- {MAIN.replace('sft', 'instruct')} trainer.epochs=3"
    )
    assert found.recipe == "visgym-instruct-grpo"
    assert (found.config["trainer.epochs"], found.config["job.environment"]) == (3, {"A": "1"})
    assert found.unresolved == ()


def test_a_command_of_another_framework() -> None:
    found = read(
        "export A=1\npip install verl\nray job submit --working-dir . -- "
        "python -m verl.trainer.main_ppo data.train_files='a b'"
    )
    assert found.recipe == "command"
    assert found.config == {
        "job.entrypoint": "python -m verl.trainer.main_ppo 'data.train_files=a b'",
        "job.environment": {"A": "1"},
        "job.setup_commands": ["pip install verl"],
    }
    assert service.validate(service.get("command"), found.config).ok


@pytest.mark.parametrize("name", ["visgym-sft-grpo", "visgym-instruct-grpo"])
def test_our_own_script_comes_back(name: str) -> None:
    config = {
        "trainer.epochs": 3,
        "trainer.tags": ["it's", "a b"],
        "trainer.flash_attn": False,
        "job.s3_copy": "s3://bucket/{run_id}",
        "job.working_dir": "s3://bucket/code.zip",
        "job.setup_commands": ["pip install 'a b'"],
    }
    values = service.resolve(name, config)
    script = service.render(service.get(name), values).files[SCRIPT]
    found = read(script)
    assert (found.recipe, found.unresolved) == (name, ())
    assert service.resolve(name, found.config) == values


def test_what_a_script_does_not_name_counts_as_it_does_to_skyrl() -> None:
    config = read(f"{MAIN} trainer.epochs=3").config
    assert config["trainer.policy.model.lora.rank"] == 0
    assert config["job.make_data"] is False
    laid_over = read("trainer.epochs=3")
    assert laid_over.config == {"trainer.epochs": 3}
    assert "the recipe's values" in laid_over.notes[0].reason


def test_a_dump_of_skyrls_config_becomes_the_config_that_made_it() -> None:
    recipe = service.get(SFT)
    values = service.resolve(SFT, {"trainer.seed": 7})
    nested: dict[str, Any] = {}
    for key, value in skyrl_checks.parse(recipe, values).full.items():
        *groups, last = key.split(".")
        place = nested
        for group in groups:
            place = place.setdefault(group, {})
        place[last] = value
    found = read(yaml.safe_dump(nested))
    assert found.unresolved == ()
    back = service.resolve(SFT, found.config)
    assert {k: back[k] for k in values if not k.startswith("job.")} == {
        k: v for k, v in values.items() if not k.startswith("job.")
    }


BAD = {
    "long": "trainer.epochs=1\n" * 300_000,
    "one word": "a" * 5_000_000,
    "binary": os.urandom(50_000).decode(errors="replace"),
    "zero": "trainer.epochs=1\0",
    "alias": "trainer:\n  a: &a [1]\n  b: [*a, *a]",
    "bomb": "trainer: &a\n  b: [*a]",
    "yaml keys": "trainer:\n" + "".join(f"  {n}: 1\n" for n in range(10_000)),
    "json keys": "{" + ",".join(f'"trainer.{n}": 1' for n in range(5_000)) + "}",
    "list": "".join(f"data.{n}=1\n" for n in range(10_000)),
    "script": MAIN + " ".join(f"data.{n}=1" for n in range(9_000)),
    "lines": "a b\n" * 30_000,
    "deep": "[" * 100_000,
    "deep braces": "trainer: " + "{a: " * 9_000,
    "quotes": '"' * 99_999,
    "dollars": "$" * 99_999,
    "env": "env " * 30_000,
    "ifs": "if " * 40_000,
    "empty": " \n",
    "date": "trainer:\n  epochs: 2020-01-01",
    "recipe": "recipe: none\nconfig: {}",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_a_clear_answer_at_once(name: str) -> None:
    with processor_under(1), pytest.raises(Invalid) as caught:
        read(BAD[name])
    assert 10 < len(caught.value.message) < 300
    [problem] = caught.value.problems
    assert problem.field == "text"


@pytest.mark.parametrize(
    "text",
    [
        "a=" + "$(" * 60_000,
        "a=" + "${a:-" * 20_000,
        "a=xxxxxxxxxx\n" + "a=$a$a$a$a$a$a$a$a$a$a\n" * 30,
        "a=(x)\n" + 'a=("${a[@]}" "${a[@]}" "${a[@]}" "${a[@]}")\n' * 30,
        "trainer.a=${trainer.b}\n" * 400,
        "bash -c '" * 1_001,
        f"{MAIN} trainer.run_name='a",
        "cat <<A\n" * 500,
    ],
)
def test_what_would_grow_is_listed_at_once(text: str) -> None:
    with processor_under(1):
        assert read(text).unresolved


@settings(max_examples=60)
@given(st.text(st.sampled_from("a '\"\\$#\n()<>|&;{}`=[]!*~-:?+.trainer.epochs=1"), max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = read(MAIN + text)
    except Invalid:
        return
    assert found.recipe in {recipe.name for recipe in service.list_all()}
    assert all(each.line >= 1 and each.reason for each in found.unresolved)


def test_nothing_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SECRET", "hidden")
    found = read(
        f'touch a\nN=$(touch b)\nM=`touch c`\npython -c \'open("d", "w")\'\n'
        f"{MAIN} trainer.run_name=$SECRET trainer.tags=${{oc.env:SECRET}}"
    )
    assert list(tmp_path.iterdir()) == []
    assert "hidden" not in str(found)
