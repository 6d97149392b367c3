"""SkyRL's job package: what its programs are called with, whatever the values are."""

import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.recipes import service, skyrl_job
from app.recipes.model import RUN_ID
from app.recipes.render import SCRIPT, Rendered
from app.recipes.skyrl.values import render_override
from tests.recipes.job_stubs import RUN_ID as ID
from tests.recipes.job_stubs import SHELLCHECK, Call, run_package

SFT = service.get("visgym-sft-grpo")
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
TRICKS = (
    "$(touch pwned)", "`touch pwned`", "'; touch pwned; '", '"; touch pwned; "', "a\nb", "-rf",
    "--help", "\\", "${HOME}", "!!", "~", "*", "é\u2028\U0001f600", "#x", "a: b", "{run_id}",
    "x{run_id}$(touch pwned)\"'", "", " ", "null", "yes", "1e5", "\\${x}", "[", "{", "=", "\t",
)  # fmt: skip


def values_with(changes: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Full values, with keys beyond the form at the end and in order, as they are rendered."""
    placed = {
        "trainer.policy.model.path": f"{folder}/models/base",
        "job.skyrl_dir": str(folder),
    }
    return {**SFT.defaults(), **placed, **dict(sorted(changes.items()))}


def run(changes: dict[str, Any], folder: Path, **options: Any) -> list[Call]:
    package = service.render(SFT, values_with(changes, folder))
    return run_package(package, folder, downloads="mixed_qwen3vl", **options)


def find(calls: list[Call], program: str) -> Call:
    [found] = [each for each in calls if each.arguments[:1] and program in each.arguments[0]]
    return found


def expected(values: dict[str, Any]) -> list[str]:
    overrides = skyrl_job.overrides(SFT, values).items()
    return [render_override(key, value).replace(RUN_ID, ID) for key, value in overrides]


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(TEXT, TEXT, st.lists(TEXT, max_size=3))
@example(TRICKS[0], TRICKS[1], list(TRICKS))
@example(TRICKS[2], TRICKS[3], list(reversed(TRICKS)))
def test_no_value_reaches_the_shell(one: str, other: str, several: list[str]) -> None:
    changes: dict[str, Any] = {
        "trainer.run_name": one,
        "trainer.project_name": other,
        "trainer.tags": several,
        "generator.inference_engine.engine_init_kwargs": {"a": one, "b": several},
        "job.env_id": other,
        "job.environment": {"PROBE": one},
        "job.s3_copy": f"s3://bucket/{other}",
        "job.working_dir": f"s3://bucket/{one}",
        "job.excludes": several,
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        calls = run(changes, folder)
        assert not list(folder.rglob("pwned"))
        train = find(calls, "/train.py")
        wanted = [
            text for text in expected(values_with(changes, folder)) if "${run_id}" not in text
        ]
        assert [text for text in train.arguments[2:] if "${" + ID not in text] == wanted
        assert train.probe == one.replace(RUN_ID, ID)
        shown = [other.replace(RUN_ID, ID), one.replace(RUN_ID, ID)]
        data = [each for each in calls if "/write_dataset.py" in each.arguments[0]]
        assert [each.arguments[1] for each in data] == [f"--env-id={shown[0]}"] * 2
        assert find(calls, "/get_code.py").arguments[1] == f"--source=s3://bucket/{shown[1]}"


@pytest.mark.parametrize("trick", TRICKS)
def test_known_tricks_come_out_as_they_are(trick: str, tmp_path: Path) -> None:
    calls = run({"trainer.run_name": trick, "trainer.tags": [trick, [trick]]}, tmp_path)
    values = values_with({"trainer.run_name": trick, "trainer.tags": [trick, [trick]]}, tmp_path)
    assert find(calls, "/train.py").arguments[2:] == expected(values)
    assert not list(tmp_path.rglob("pwned"))


def test_the_default_job_in_order(tmp_path: Path) -> None:
    calls = run({}, tmp_path)
    assert [each.name for each in calls] == ["hf", "python", "python", "python"]
    download, train, evaluation, trainer = calls
    assert download.arguments[:4] == [
        "download",
        "VisGym/visgym_model",
        "--revision=main",
        "--include=mixed_qwen3vl/*",
    ]
    assert train.arguments[3:] == [
        "--rows=256",
        "--first-seed=1000",
        "--not-seeds=0:64",
        f"--output=/shared/runs/{ID}/data/train.parquet",
    ]
    assert evaluation.arguments[3:5] == ["--rows=64", "--first-seed=0"]
    assert f'trainer.ckpt_path="/shared/runs/{ID}/checkpoints"' in trainer.arguments
    assert trainer.probe == ""


def test_a_job_that_is_submitted_again_downloads_nothing(tmp_path: Path) -> None:
    first, second = [run({}, tmp_path) for _ in range(2)]
    assert [each.name for each in second] == [each.name for each in first if each.name != "hf"]
    assert find(first, "/train.py") == find(second, "/train.py")
    assert [p.name for p in (tmp_path / "models").iterdir()] == ["base"]


def test_the_older_name_of_the_downloader_will_do(tmp_path: Path) -> None:
    calls = run({}, tmp_path, programs=())
    assert calls[0].name == "huggingface-cli"


@pytest.mark.parametrize("ending", ["/", "//", "/."])
@pytest.mark.parametrize("inner", ["", "mixed_qwen3vl"])
def test_a_slash_behind_the_models_path_does_not_matter(
    ending: str, inner: str, tmp_path: Path
) -> None:
    changes = {
        "trainer.policy.model.path": f"{tmp_path}/models/base{ending}",
        "job.base_model_folder": inner,
    }
    package = service.render(SFT, values_with(changes, tmp_path))
    calls = run_package(package, tmp_path, downloads=inner)
    assert calls[0].name == "hf"
    assert [p.name for p in (tmp_path / "models").iterdir()] == ["base"]
    assert [p.name for p in (tmp_path / "models" / "base").iterdir()] == ["config.json"]
    again = run_package(package, tmp_path, downloads=inner)
    assert "hf" not in [each.name for each in again]


def test_a_half_downloaded_model_is_not_taken(tmp_path: Path) -> None:
    half = tmp_path / "models" / "base"
    half.mkdir(parents=True)
    (half / "weights").write_text("half")
    with pytest.raises(AssertionError, match="not empty"):
        run({}, tmp_path)


def test_copies_go_on_beside_the_training_and_once_more_at_its_end(tmp_path: Path) -> None:
    calls = run({"job.s3_copy": "s3://bucket/{run_id}"}, tmp_path)
    copies = [each.arguments[1:] for each in calls if "/copy_to_s3.py" in each.arguments[0]]
    options = [
        f"--checkpoints=/shared/runs/{ID}/checkpoints",
        f"--exports=/shared/runs/{ID}/exports",
        f"--to=s3://bucket/{ID}",
    ]
    assert [*options, "--once"] in copies
    assert all(each[:3] == options for each in copies)


@pytest.mark.parametrize("trained", [0, 7])
@pytest.mark.parametrize("copied", [0, 1])
def test_the_trainers_status_counts_and_not_the_copys(
    trained: int, copied: int, tmp_path: Path
) -> None:
    folder = tmp_path / "job"
    fails = {f"{folder}/train.py": trained, "--once": copied}
    changes = {"job.s3_copy": "s3://bucket/{run_id}"}
    calls = run(changes, tmp_path, fails=fails, status=trained)
    assert "--once" in calls[-1].arguments


def test_without_a_repository_nothing_is_downloaded(tmp_path: Path) -> None:
    calls = run({"job.base_model_repo": "", "job.make_data": False}, tmp_path)
    assert [each.name for each in calls] == ["python"]


def test_set_up_commands_are_commands(tmp_path: Path) -> None:
    run({"job.setup_commands": [f'echo "it\'s" > {tmp_path}/said']}, tmp_path)
    assert (tmp_path / "said").read_text() == "it's\n"
    with pytest.raises(AssertionError):
        run({"job.setup_commands": ["false; true"]}, tmp_path)


def test_uploaded_code_is_there_already(tmp_path: Path) -> None:
    source = f"upload:{'0' * 64}"
    calls = run({"job.working_dir": source, "job.make_data": False}, tmp_path)
    assert not [each for each in calls if "get_code.py" in str(each.arguments)]
    assert (
        "get_code.py"
        not in service.render(SFT, values_with({"job.working_dir": source}, tmp_path)).files
    )


GIT = f"https://host/repository@{'a' * 40}"


def code_of(calls: list[Call]) -> Path:
    [into] = [a for a in find(calls, "/get_code.py").arguments if a.startswith("--into=")]
    return Path(into.removeprefix("--into="))


@pytest.mark.parametrize("name", ["command", SFT.name])
def test_fetched_code_lies_where_all_nodes_see_it(name: str, tmp_path: Path) -> None:
    """Beside the checkpoints of the run, or in its folder on /shared, put elsewhere here."""
    fetches = {"job.working_dir": GIT, "job.setup_commands": ["true"]}
    recipe = service.get(name)
    values: dict[str, Any] = {**recipe.defaults(), **fetches}
    values = values_with(fetches, tmp_path) if recipe is SFT else values
    package = service.render(recipe, values | {"job.entrypoint": 'echo "$PYTHONPATH" > seen'})
    script = package.files[SCRIPT].replace("/shared", f"{tmp_path}/shared")
    # The command enters the folder, which the stand-in does not make.
    script = script.replace('cd -- "$code"', 'mkdir "$code"; cd -- "$code"')
    (tmp_path / "shared").mkdir()
    placed = replace(package, files={SCRIPT: script})
    calls = run_package(placed, tmp_path, downloads="mixed_qwen3vl")
    code = code_of(calls)
    assert code.parent == tmp_path / "shared" / "runs" / ID
    assert code.name.startswith("code-")
    if name == "command":
        assert (code / "seen").read_text() == f"{code}\n"
    else:
        assert f'PYTHONPATH="$PWD:{"$code"}' in script


def test_code_goes_beside_checkpoints_that_are_elsewhere(tmp_path: Path) -> None:
    changes = {"job.working_dir": GIT, "trainer.ckpt_path": f"{tmp_path}/a/{RUN_ID}/ck/"}
    assert code_of(run(changes, tmp_path)).parent == tmp_path / "a" / ID
    assert (tmp_path / "a" / ID).is_dir()


@pytest.mark.parametrize("path", ["s3://bucket/{run_id}/ck", "/nowhere/of/another/run/ck"])
def test_code_is_beside_the_script_where_nodes_share_nothing(path: str, tmp_path: Path) -> None:
    changes = {"job.working_dir": GIT, "trainer.ckpt_path": path}
    package = service.render(SFT, values_with(changes, tmp_path))
    script = package.files[SCRIPT].replace("[ -d /shared ]", "[ -d /nowhere-at-all ]")
    assert 'code="/shared/runs/${SKYDECK_RUN_ID}/code-' in script
    calls = run_package(
        replace(package, files={SCRIPT: script}), tmp_path, downloads="mixed_qwen3vl"
    )
    assert code_of(calls) == tmp_path / "job" / "code"


def test_other_code_has_another_folder() -> None:
    """A run's id may be given again by hand, with another package."""
    changes: list[dict[str, Any]] = [
        {"job.working_dir": GIT},
        {"job.working_dir": GIT.replace("a", "b")},
        {"job.working_dir": GIT, "job.excludes": ["*.ckpt"]},
    ]
    scripts = [skyrl_job.get_code(SFT.defaults() | each) for each in changes]
    assert len({each.splitlines()[0] for each in scripts}) == len(changes)


def test_a_command_runs_in_the_folder_of_its_uploaded_code(tmp_path: Path) -> None:
    values = service.resolve(
        "command",
        {
            "job.working_dir": f"upload:{'0' * 64}",
            "job.setup_commands": ["pwd > set-up"],
            "job.entrypoint": 'echo "$PWD $PYTHONPATH" > ran',
        },
    )
    run_package(service.render(service.get("command"), values), tmp_path)
    job = tmp_path / "job"
    assert (job / "set-up").read_text() == f"{job}\n"
    assert (job / "ran").read_text() == f"{job} {job}\n"


def packages() -> list[Rendered]:
    changes: list[tuple[str, dict[str, Any]]] = [(r.name, {}) for r in service.list_all()]
    changes.append(
        (
            "visgym-sft-grpo",
            {
                "job.s3_copy": "s3://bucket/{run_id}",
                "job.working_dir": "s3://bucket/code.zip",
                "job.excludes": ["*.ckpt", "it's"],
                "trainer.ckpt_path": "/my disk/{run_id}/it's/ck",
                "job.setup_commands": ["pip install 'a b' $X"],
                "trainer.tags": list(TRICKS),
            },
        )
    )
    changes.append(("command", {"job.working_dir": GIT, "job.entrypoint": "a 'b' $C | d"}))
    changes += [(n, {"job.working_dir": f"upload:{'0' * 64}"}) for n in ("command", SFT.name)]
    return [service.render(service.get(n), service.resolve(n, config)) for n, config in changes]


def test_shellcheck_finds_nothing() -> None:
    for package in packages():
        answer = subprocess.run(
            [SHELLCHECK, "-"],
            input=package.files[SCRIPT].encode(),
            capture_output=True,
            check=False,
        )
        assert answer.stdout.decode() == ""


def test_the_package_is_small_and_whole() -> None:
    for package in packages():
        script = package.files[SCRIPT]
        assert sum(map(len, package.files.values())) < 40_000
        assert all(name in script for name in package.files if name != SCRIPT)
        named = {word for word in script.split() if word.startswith('"$here/') and ".py" in word}
        assert {word.strip('"').removeprefix("$here/") for word in named} <= package.files.keys()


def test_the_same_config_gives_the_same_bytes() -> None:
    values = service.resolve(SFT.name, {"trainer.tags": ["a"], "trainer.flash_attn": False})
    backwards = dict(reversed(values.items()))
    assert service.render(SFT, values) == service.render(SFT, service.resolve(SFT.name, backwards))


def test_no_run_no_script() -> None:
    script = service.render(SFT, SFT.defaults()).files[SCRIPT]
    answer = subprocess.run(["bash", "-c", script], env={}, capture_output=True, text=True)
    assert answer.returncode != 0
    assert "SKYDECK_RUN_ID" in answer.stderr
