"""What is copied to S3, in which order, and what a second start does."""

from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from worker.jobs.skyrl import copy_to_s3
from worker.jobs.skyrl.copy_to_s3 import DONE, LATEST, copy_checkpoints, copy_exports


class Bucket(MemoryFileSystem):  # type: ignore[misc, unused-ignore]
    """A file system of fsspec that remembers the order; fails where and when it is told to."""

    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self.store: dict[str, Any] = {}
        self.pseudo_dirs = [""]
        self.order: list[str] = []
        self.fails_at = ""

    def put_file(self, lpath: str, rpath: str, **options: Any) -> None:
        if rpath == self.fails_at:
            raise OSError("no way")
        super().put_file(lpath, rpath, **options)
        self.order.append(rpath)

    def pipe_file(self, path: str, value: bytes, **options: Any) -> None:
        if path == self.fails_at:
            raise OSError("no way")
        super().pipe_file(path, value, **options)
        self.order.append(path)

    def names(self) -> set[str]:
        return {name.lstrip("/") for name in self.store}


def make_step(folder: Path, step: int) -> None:
    place = folder / f"global_step_{step}"
    (place / "policy").mkdir(parents=True)
    (place / "data.pt").write_text(str(step))
    (place / "policy" / "rank_0.pt").write_text(f"weights {step}")


def files_of(step: int) -> set[str]:
    return {f"c/global_step_{step}/data.pt", f"c/global_step_{step}/policy/rank_0.pt"}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoints"
    for step in (5, 10, 20):
        make_step(folder, step)
    (folder / LATEST).write_text("10")
    return folder


@pytest.fixture
def bucket() -> Bucket:
    return Bucket()


def test_only_complete_checkpoints_are_copied_and_the_step_last(run: Path, bucket: Bucket) -> None:
    assert copy_checkpoints(run, "c", bucket) == ["global_step_5", "global_step_10"]
    assert bucket.names() == files_of(5) | files_of(10) | {f"c/{LATEST}"}
    assert {each.split("/")[1] for each in bucket.order[:2]} == {"global_step_5"}
    assert bucket.order[-1] == f"c/{LATEST}"


def test_nothing_is_copied_twice(run: Path, bucket: Bucket) -> None:
    copy_checkpoints(run, "c", bucket)
    bucket.order.clear()
    assert copy_checkpoints(run, "c", bucket) == []
    assert bucket.order == []
    (run / LATEST).write_text("20")
    assert copy_checkpoints(run, "c", bucket) == ["global_step_20"]
    assert bucket.cat_file(f"c/{LATEST}") == b"20"


@pytest.mark.parametrize("broken", sorted(files_of(10)))
def test_a_copy_that_broke_off_is_made_again_in_place(
    run: Path, bucket: Bucket, broken: str
) -> None:
    bucket.fails_at = broken
    with pytest.raises(OSError, match="no way"):
        copy_checkpoints(run, "c", bucket)
    assert not bucket.exists(f"c/{LATEST}")
    assert not (run / "global_step_10" / DONE).exists()
    bucket.fails_at = ""
    assert copy_checkpoints(run, "c", bucket) == ["global_step_10"]
    assert bucket.names() == files_of(5) | files_of(10) | {f"c/{LATEST}"}
    assert bucket.cat_file("c/global_step_10/policy/rank_0.pt") == b"weights 10"


def test_a_copy_that_ended_before_its_step_is_completed(run: Path, bucket: Bucket) -> None:
    bucket.fails_at = f"c/{LATEST}"
    with pytest.raises(OSError, match="no way"):
        copy_checkpoints(run, "c", bucket)
    assert (run / "global_step_10" / DONE).exists()
    bucket.fails_at = ""
    assert copy_checkpoints(run, "c", bucket) == []
    assert bucket.cat_file(f"c/{LATEST}") == b"10"


def test_a_step_that_is_written_meanwhile_is_not_announced(run: Path, bucket: Bucket) -> None:
    class Training(Bucket):
        def put_file(self, lpath: str, rpath: str, **options: Any) -> None:
            super().put_file(lpath, rpath, **options)
            (run / LATEST).write_text("20")

    training = Training()
    copy_checkpoints(run, "c", training)
    assert training.cat_file(f"c/{LATEST}") == b"10"
    assert copy_checkpoints(run, "c", training) == ["global_step_20"]
    assert training.cat_file(f"c/{LATEST}") == b"20"


def test_before_the_first_checkpoint(tmp_path: Path, bucket: Bucket) -> None:
    assert copy_checkpoints(tmp_path / "none", "c", bucket) == []
    assert copy_exports(tmp_path / "none", "e", bucket) == []
    assert bucket.names() == set()


def test_exports_are_copied_whole(tmp_path: Path, bucket: Bucket) -> None:
    make_step(tmp_path / "e", 10)
    (tmp_path / "e" / "global_step_20" / ".tmp-hf-export-1").mkdir(parents=True)
    (tmp_path / "e" / "dumped_evals").mkdir()
    assert copy_exports(tmp_path / "e", "e", bucket) == ["global_step_10"]
    assert "e/global_step_10/policy/rank_0.pt" in bucket.names()


@pytest.mark.parametrize(("fails_at", "status"), [("", 0), (f"memory://c/checkpoints/{LATEST}", 1)])
def test_once_says_whether_all_was_copied(
    run: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, fails_at: str, status: int
) -> None:
    bucket.fails_at = fails_at
    monkeypatch.setattr(copy_to_s3, "_file_system", lambda: bucket)
    words = [f"--checkpoints={run}", f"--exports={run.parent / 'none'}", "--to=memory://c/"]
    assert copy_to_s3.main([*words, "--once"]) == status
    assert bucket.exists("c/checkpoints/global_step_10/data.pt")
