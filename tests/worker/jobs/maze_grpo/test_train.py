import errno
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.logs.parsers.eval_dump import parse_eval_dump
from app.logs.parsers.events import LogEventKind
from app.maze.eval_sets import EVAL_SETS
from tests.worker.jobs.maze_grpo.conftest import MakeRun, SmallRun
from worker.jobs.maze_grpo import files
from worker.jobs.maze_grpo.checkpoints import BadCheckpoint
from worker.jobs.maze_grpo.evalsets import mazes_of
from worker.jobs.maze_grpo.export import read_adapter
from worker.jobs.maze_grpo.mazes import Drawn, Stream, layouts, mazes_in
from worker.jobs.maze_grpo.train import Stopped


def blocks_of(run: SmallRun) -> dict[int, dict[str, Any]]:
    """Metrics by step, without the times that no two runs share."""
    return {
        block.step: {k: v for k, v in block.values.items() if not k.startswith("timing/")}
        for block in run.parsed().blocks
    }


def statuses_of(run: SmallRun) -> list[str]:
    """The lines with the policy's metrics in full precision."""
    return [line for line in run.output.getvalue().split("\n") if "{'final_loss': " in line]


def events_of(run: SmallRun) -> list[tuple[LogEventKind, int | None]]:
    return [
        (event.kind, event.step)
        for event in run.parsed().events
        if event.kind not in (LogEventKind.PHASE_STARTED, LogEventKind.PHASE_FINISHED)
    ]


def copy_checkpoint(run: SmallRun, step: int, to: Path) -> None:
    name = f"global_step_{step}"
    shutil.copytree(run.folder / "ckpts" / name, to / "ckpts" / name)
    (to / "ckpts" / "latest_ckpt_global_step.txt").write_text(str(step))


def test_a_resumed_run_is_bit_for_bit_the_uninterrupted_one(
    small_run: MakeRun, tmp_path: Path
) -> None:
    whole = small_run(folder=tmp_path / "whole")
    whole.trainer.run()
    copy_checkpoint(whole, 3, tmp_path / "resumed")
    resumed = small_run(folder=tmp_path / "resumed")
    resumed.trainer.run()
    expected, got = blocks_of(whole), blocks_of(resumed)
    assert list(expected) == [1, 2, 3, 4, 5, 6]
    assert got == {step: expected[step] for step in (4, 5, 6)}
    for of_whole, of_resumed in zip(statuses_of(whole)[3:], statuses_of(resumed), strict=True):
        assert of_whole.partition("{'")[2] == of_resumed.partition("{'")[2]
    for kind in ("adapter", "average"):
        pair = [getattr(run.trainer.state, kind).vector for run in (whole, resumed)]
        assert np.array_equal(*pair)
    assert (LogEventKind.RESUMED, 3) in events_of(resumed)


def test_what_a_run_tells_and_leaves(small_run: MakeRun) -> None:
    run = small_run(
        "trainer.eval_interval=10",
        "trainer.eval_before_train=true",
        "trainer.hf_save_interval=4",
        "trainer.max_training_steps=5",
        "trainer.train_batch_size=4",
        "trainer.run_name=run-a",
    )
    run.trainer.run()
    blocks = blocks_of(run)
    assert [step for step, values in blocks.items() if "eval/all/pass_at_1" in values] == [0, 5]
    assert 0.30 <= blocks[0]["eval/all/pass_at_1"] <= 0.55
    assert "trainer/global_step" not in blocks[0]
    assert all(blocks[step]["trainer/global_step"] == step for step in range(1, 6))
    saved = [step for kind, step in events_of(run) if kind is LogEventKind.CHECKPOINT_SAVED]
    assert saved == [3, 5]
    assert events_of(run)[0] == (LogEventKind.TOTAL_STEPS, 5)
    assert events_of(run)[-1] == (LogEventKind.TRAINING_DONE, None)
    timed = {step: set(block.values) for step, block in blocks_with_times(run).items()}
    assert "timing/eval" in timed[1]
    assert "timing/eval" not in timed[0]
    for step in (0, 5):
        folder = run.folder / "exports" / "dumped_evals" / f"global_step_{step}_evals"
        dump = parse_eval_dump((folder / "unknown.jsonl").read_bytes())
        assert dump.solved_count / 64 == pytest.approx(blocks[step]["eval/all/pass_at_1"], abs=1e-4)
    lora, average, facts = read_adapter(run.folder / "exports" / "global_step_5" / "policy")
    assert np.array_equal(average.vector, run.trainer.state.average.vector)
    assert (lora.rank, facts["run"], facts["step"]) == (4, "run-a", "5")


def blocks_with_times(run: SmallRun) -> dict[int, Any]:
    return {block.step: block for block in run.parsed().blocks}


def test_no_training_maze_is_an_evaluation_maze(
    small_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Drawn] = []
    take = Stream.take

    def watched(stream: Stream, count: int) -> list[Drawn]:
        drawn.extend(taken := take(stream, count))
        return taken

    monkeypatch.setattr(Stream, "take", watched)
    monkeypatch.setattr("worker.jobs.maze_grpo.train.train_seed", lambda _seed: 0)
    run = small_run("trainer.max_training_steps=1", "trainer.train_batch_size=30")
    run.trainer.run()
    evaluated = layouts(maze for each in EVAL_SETS.values() for maze in mazes_of(each))
    assert len(drawn) == 30
    assert not layouts(mazes_in(drawn)) & evaluated
    assert run.trainer.state.next_seed == drawn[-1].seed + 1


@pytest.mark.parametrize("polls", [0, 31])
def test_a_stopped_run_saves_its_last_whole_step(
    small_run: MakeRun, tmp_path: Path, polls: int
) -> None:
    whole = small_run("trainer.ckpt_interval=1", folder=tmp_path / "whole")
    whole.trainer.run()
    stopped = small_run("trainer.ckpt_interval=4", folder=tmp_path / "stopped")
    left = iter(range(40 + polls))
    stopped.trainer._stop_asked = lambda: next(left, None) is None
    with pytest.raises(Stopped):
        stopped.trainer.run()
    step = stopped.trainer.state.step
    assert 0 < step < 6
    assert (LogEventKind.CHECKPOINT_SAVED, step) in events_of(stopped)
    saved = stopped.folder / "ckpts" / f"global_step_{step}" / "policy"
    kept = whole.folder / "ckpts" / f"global_step_{step}" / "policy"
    for name in ("model_world_size_1_rank_0.safetensors", "extra_state_world_size_1_rank_0.json"):
        assert (saved / name).read_bytes() == (kept / name).read_bytes()


def test_a_run_that_is_stopped_before_its_first_step_leaves_nothing(small_run: MakeRun) -> None:
    run = small_run()
    run.asked.append(True)
    with pytest.raises(Stopped):
        run.trainer.run()
    assert not list((run.folder / "ckpts").iterdir())


def test_a_full_disk_ends_the_run_and_keeps_the_older_checkpoint(
    small_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small_run()
    write = files.write_synced

    def full(path: Path, data: bytes) -> None:
        if run.trainer.state.step == 6:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, data)

    monkeypatch.setattr(files, "write_synced", full)
    with pytest.raises(OSError, match="No space left on device"):
        run.trainer.run()
    assert (run.folder / "ckpts" / "latest_ckpt_global_step.txt").read_text() == "3"
    assert {path.name for path in (run.folder / "ckpts").iterdir()} == {
        "global_step_3",
        "latest_ckpt_global_step.txt",
    }


def test_resume_modes(small_run: MakeRun, tmp_path: Path) -> None:
    first = small_run("trainer.max_training_steps=3")
    first.trainer.run()
    assert small_run("trainer.resume_mode=none").trainer.state.step == 0
    assert small_run("trainer.resume_mode=latest").trainer.state.step == 3
    path = f"trainer.resume_path={tmp_path}/ckpts/global_step_3"
    assert small_run("trainer.resume_mode=from_path", path).trainer.state.step == 3
    with pytest.raises(BadCheckpoint, match="another LoRA rank"):
        small_run("trainer.policy.model.lora.rank=5")


def test_a_finished_run_trains_no_further(small_run: MakeRun) -> None:
    small_run("trainer.max_training_steps=3").trainer.run()
    again = small_run("trainer.max_training_steps=3")
    again.trainer.run()
    assert blocks_of(again) == {}
    assert events_of(again)[-1] == (LogEventKind.TRAINING_DONE, None)


def test_the_settings_lie_in_the_checkpoint(small_run: MakeRun) -> None:
    run = small_run("trainer.seed=9", "trainer.max_training_steps=1")
    run.trainer.run()
    state = json.loads((run.folder / "ckpts/global_step_1/trainer_state.json").read_text())
    assert state["config"]["trainer.seed"] == 9
