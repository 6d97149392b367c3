import json
from pathlib import Path

import pytest

from tests.worker.jobs.maze_grpo.conftest import MakeRun
from worker.jobs.maze_grpo import heldout
from worker.jobs.maze_grpo.base import BASE_FILE
from worker.jobs.maze_grpo.mazes import Drawn, Stream, layouts, mazes_in

SOME_MAZES = 40


@pytest.fixture
def adapter(small_run: MakeRun, tmp_path: Path) -> Path:
    arguments = ("trainer.max_training_steps=1", "trainer.hf_save_interval=1")
    small_run(*arguments).trainer.run()
    return tmp_path / "exports" / "global_step_1" / "policy"


def test_wilson_interval_has_the_published_values() -> None:
    """Newcombe, "Two-sided confidence intervals for the single proportion" (1998), table I."""
    published = {
        (81, 263): (0.2553, 0.3662),
        (15, 148): (0.0624, 0.1605),
        (0, 20): (0.0, 0.1611),
        (1, 29): (0.0061, 0.1718),
    }
    for (solved, count), interval in published.items():
        assert heldout.wilson(solved, count) == pytest.approx(interval, abs=6e-5)


def test_it_prints_both_solve_rates_as_json(
    adapter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert heldout.main(["--adapter", str(adapter), "--n", str(SOME_MAZES)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["n"] == SOME_MAZES
    for name in ("base", "adapter"):
        solved, (low, high) = result[name]["solved"], result[name]["wilson_95"]
        assert result[name]["solve_rate"] == solved / SOME_MAZES
        assert low < solved / SOME_MAZES < high


def test_training_mazes_are_left_out(adapter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = layouts(mazes_in(Stream(2_000_000).take(6)))
    taken: list[Drawn] = []
    take = Stream.take

    def watched(stream: Stream, count: int) -> list[Drawn]:
        drawn = take(stream, count)
        if count == SOME_MAZES:
            taken.extend(drawn)
        return drawn

    # Where training began, so that the held-out stream meets its mazes.
    monkeypatch.setattr(heldout, "HELD_OUT_SEED", 2_000_000)
    monkeypatch.setattr(Stream, "take", watched)
    heldout.compare(adapter, base=BASE_FILE, count=SOME_MAZES)
    assert len(taken) == SOME_MAZES
    assert not layouts(mazes_in(taken)) & trained


def test_what_is_wrong_is_one_line(
    adapter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert heldout.main(["--adapter", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err.startswith(f"heldout: {tmp_path}/none holds no adapter")
    data = (adapter / "adapter_model.safetensors").read_bytes()
    other = data.replace(b"train_next_seed", b"another_thing__")
    (adapter / "adapter_model.safetensors").write_bytes(other)
    assert heldout.main(["--adapter", str(adapter)]) == 1
    assert "the metadata lacks 'train_next_seed'" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        heldout.main(["--adapter", str(adapter), "--n", "0"])
    assert stopped.value.code == 2
