from pathlib import Path

import pytest

from worker.jobs.maze_grpo import files


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_folder_appears_whole_and_replaces_an_older_one(tmp_path: Path) -> None:
    target = tmp_path / "step"
    target.mkdir()
    (target / "old").touch()
    with files.whole_folder(target) as unfinished:
        files.write_synced(unfinished / "deep" / "new", b"1")
        assert names(target) == {"old"}
    assert names(target) == {"deep"}
    assert names(tmp_path) == {"step"}


def test_a_failed_folder_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "step"
    target.mkdir()
    (target / "old").touch()

    def fill() -> None:
        with files.whole_folder(target) as unfinished:
            files.write_synced(unfinished / "new", b"1")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fill()
    assert names(target) == {"old"}
    assert names(tmp_path) == {"step"}


def test_a_failed_file_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "latest.txt"
    files.write(target, b"3")

    def fail(_handle: int) -> None:
        raise OSError("full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="full"):
        files.write(target, b"4")
    assert target.read_bytes() == b"3"
    assert names(tmp_path) == {"latest.txt"}


def test_leftovers_of_a_killed_run_go_and_nothing_else(tmp_path: Path) -> None:
    for name in (".tmp-global_step_4-1a2b3c4d", ".old-global_step_2-1a2b3c4d", "global_step_2"):
        (tmp_path / name).mkdir()
    for name in (".tmp-latest.txt-1a2b3c4d", ".tmp-of-somebody-else"):
        (tmp_path / name).touch()
    files.remove_leftovers(tmp_path)
    assert names(tmp_path) == {"global_step_2", ".tmp-of-somebody-else"}
    files.remove_leftovers(tmp_path / "missing")
