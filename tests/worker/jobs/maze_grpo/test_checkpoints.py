import json
from pathlib import Path

import numpy as np
import pytest

from worker.jobs.maze_grpo import files
from worker.jobs.maze_grpo.checkpoints import LATEST_FILE, BadCheckpoint, Checkpoints
from worker.jobs.maze_grpo.lora import Lora
from worker.jobs.maze_grpo.state import TrainState

LORA = Lora(4, 8.0)


def state(step: int) -> TrainState:
    made = TrainState.fresh(LORA, seed=step, next_seed=2_000_000 + step)
    made.step = step
    made.adam.update(made.adapter.vector, np.ones_like(made.adapter.vector), lr=0.1)
    made.rng.random(step)
    return made


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path, LORA, "base", "digest")


def test_a_checkpoint_holds_the_whole_state(checkpoints: Checkpoints) -> None:
    saved = state(3)
    path = checkpoints.save(saved, config={"trainer.seed": 3})
    loaded = checkpoints.load(path)
    assert (loaded.step, loaded.next_seed, loaded.adam.updates) == (3, 2_000_003, 1)
    for got, kept in (
        (loaded.adapter.vector, saved.adapter.vector),
        (loaded.average.vector, saved.average.vector),
        (loaded.adam.first, saved.adam.first),
        (loaded.adam.second, saved.adam.second),
    ):
        assert np.array_equal(got, kept)
    assert loaded.rng.random() == saved.rng.random()


def test_the_layout_is_skyrls_without_pickles(checkpoints: Checkpoints) -> None:
    path = checkpoints.save(state(3), config={"trainer.seed": 3})
    found = {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}
    assert found == {
        "trainer_state.json",
        "data.json",
        "policy/model_world_size_1_rank_0.safetensors",
        "policy/optim_world_size_1_rank_0.safetensors",
        "policy/extra_state_world_size_1_rank_0.json",
        "policy/lora_adapter/adapter_model.safetensors",
        "policy/lora_adapter/adapter_config.json",
    }
    assert path.name == "global_step_3"
    assert (path.parent / LATEST_FILE).read_text() == "3"
    trainer = json.loads((path / "trainer_state.json").read_text())
    assert (trainer["global_step"], trainer["config"]) == (3, {"trainer.seed": 3})


def test_the_newest_is_found_at_every_point_of_a_save(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a kill before each file and each rename would leave."""
    assert checkpoints.latest() is None
    checkpoints.save(state(3), config={})
    steps: list[int] = []

    def watch(owner: object, name: str) -> None:
        act = getattr(owner, name)

        def watched(*arguments: object) -> object:
            latest = checkpoints.latest()
            assert latest is not None
            steps.append(checkpoints.load(latest).step)
            return act(*arguments)

        monkeypatch.setattr(owner, name, watched)

    for owner, name in ((files, "write_synced"), (Path, "rename"), (Path, "replace")):
        watch(owner, name)
    checkpoints.save(state(6), config={})
    assert steps
    assert set(steps) == {3}
    latest = checkpoints.latest()
    assert latest is not None
    assert latest.name == "global_step_6"


def test_a_lost_folder_falls_back_to_the_newest_whole_one(checkpoints: Checkpoints) -> None:
    for step in (3, 20):
        checkpoints.save(state(step), config={})
    files.write(checkpoints.folder / LATEST_FILE, b"40")
    assert checkpoints.latest() == checkpoints.folder / "global_step_20"


def test_a_marker_without_any_checkpoint_is_an_error(checkpoints: Checkpoints) -> None:
    files.write(checkpoints.folder / LATEST_FILE, b"40")
    with pytest.raises(BadCheckpoint, match=r"names step 40, but .* is missing"):
        checkpoints.latest()


def test_old_ones_go_if_asked(checkpoints: Checkpoints) -> None:
    for step in (3, 20, 100):
        checkpoints.save(state(step), config={})
    checkpoints.remove_old(-1)
    assert len(list(checkpoints.folder.glob("global_step_*"))) == 3
    checkpoints.remove_old(2)
    left = {path.name for path in checkpoints.folder.glob("global_step_*")}
    assert left == {"global_step_20", "global_step_100"}


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Checkpoints(Path(), LORA, "base", "other"), "another base model"),
        (Checkpoints(Path(), Lora(5, 8.0), "base", "digest"), "another LoRA rank or alpha"),
    ],
)
def test_a_checkpoint_of_another_model_is_refused(
    checkpoints: Checkpoints, other: Checkpoints, message: str
) -> None:
    path = checkpoints.save(state(3), config={})
    with pytest.raises(BadCheckpoint, match=message):
        other.load(path)


def test_damage_is_told_in_one_line(checkpoints: Checkpoints, tmp_path: Path) -> None:
    path = checkpoints.save(state(3), config={})
    model = path / "policy" / "model_world_size_1_rank_0.safetensors"
    model.write_bytes(model.read_bytes()[:100])
    with pytest.raises(BadCheckpoint, match="global_step_3 is not of this model"):
        checkpoints.load(path)
    model.unlink()
    with pytest.raises(BadCheckpoint, match="cannot read checkpoint"):
        checkpoints.load(path)
    with pytest.raises(BadCheckpoint, match="not named global_step_"):
        checkpoints.load(tmp_path)
