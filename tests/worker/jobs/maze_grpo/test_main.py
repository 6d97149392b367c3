"""The trainer as Ray starts it: a process with a log, exit codes and signals."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.worker.jobs.maze_grpo.conftest import SMALL
from worker.jobs.maze_grpo.checkpoints import LATEST_FILE

COMMAND = (sys.executable, "-m", "worker.jobs.maze_grpo", *SMALL)


def environment(folder: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key != "OPENBLAS_NUM_THREADS"}
    return {**kept, "SKYDECK_RUN_DIR": str(folder)}


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("trainer.sed=1", "maze_grpo: unknown key 'trainer.sed'; did you mean 'trainer.seed'?\n"),
        ("data.val_data=nope", "maze_grpo: data.val_data must be one of easy-solvable-15, "),
    ],
)
def test_a_wrong_setting_exits_with_2_and_one_line(
    tmp_path: Path, argument: str, message: str
) -> None:
    done = run(tmp_path, argument)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_path_that_cannot_be_written_fails_with_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run(tmp_path, f"trainer.ckpt_path={tmp_path}/file/ckpts")
    assert done.returncode == 1
    assert done.stderr == ""
    assert "Setup failed before tracker was initialized:\n[Errno 20] Not a directory: " in (
        done.stdout
    )
    assert done.stdout.count("ERROR") == 1


def test_sigterm_saves_and_exits_with_143(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "trainer.max_training_steps=100000", "trainer.ckpt_interval=-1"],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "Step 2: " in line:
                process.send_signal(signal.SIGTERM)
                break
        rest = process.stdout.read()
    assert process.returncode == 128 + signal.SIGTERM
    step = (tmp_path / "ckpts" / LATEST_FILE).read_text()
    assert int(step) >= 2
    assert (tmp_path / "ckpts" / f"global_step_{step}" / "trainer_state.json").exists()
    assert f"Successfully saved checkpoint for global_step_{step} to: " in rest
    assert f"Stopped by SIGTERM after step {step}" in rest


def test_runs_killed_while_they_save_go_on_to_the_same_end(tmp_path: Path) -> None:
    arguments = ("trainer.ckpt_interval=1", "trainer.max_training_steps=5")
    for marker in ("Started: 'save_checkpoints'", "Step 2: ", "Started: 'policy_train'"):
        with subprocess.Popen(
            [*COMMAND, *arguments],
            env=environment(tmp_path / "killed"),
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if marker in line:
                    process.kill()
                    break
        assert process.returncode == -signal.SIGKILL
    assert run(tmp_path / "killed", *arguments).returncode == 0
    assert run(tmp_path / "whole", *arguments).returncode == 0
    weights = "ckpts/global_step_5/policy/model_world_size_1_rank_0.safetensors"
    killed, whole = (tmp_path / name / weights for name in ("killed", "whole"))
    assert killed.read_bytes() == whole.read_bytes()
    assert {path.name for path in (tmp_path / "killed" / "ckpts").iterdir()} == {
        path.name for path in (tmp_path / "whole" / "ckpts").iterdir()
    }


def test_a_short_run_exits_with_0_and_limits_its_own_threads(tmp_path: Path) -> None:
    done = run(tmp_path, "trainer.max_training_steps=1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Training done!" in done.stdout
    code = "import os, worker.jobs.maze_grpo; print(os.environ['OPENBLAS_NUM_THREADS'])"
    shown = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == "1\n"
