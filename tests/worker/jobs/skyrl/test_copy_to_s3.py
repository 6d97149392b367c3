"""What is copied to S3, in which order, and what a second start does."""

import shutil
from pathlib import Path

import pytest

from worker.jobs.skyrl.copy_to_s3 import LATEST, copy_checkpoints, copy_exports


class Bucket:
    """Copies to a folder and remembers the order; fails where it is told to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.order: list[str] = []
        self.fails_at = ""

    def put(self, source: Path, target: str) -> None:
        if target == self.fails_at:
            raise OSError("no way")
        self.order.append(target)
        place = self.folder / target
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, place)
        else:
            shutil.copy(source, place)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoints"
    for step in (5, 10, 20):
        (folder / f"global_step_{step}").mkdir(parents=True)
        (folder / f"global_step_{step}" / "data.pt").write_text(str(step))
    (folder / LATEST).write_text("10")
    return folder


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    return Bucket(tmp_path / "bucket")


def test_only_complete_checkpoints_are_copied_and_the_step_last(run: Path, bucket: Bucket) -> None:
    assert copy_checkpoints(run, "c", bucket.put) == ["global_step_5", "global_step_10"]
    assert bucket.order == ["c/global_step_5", "c/global_step_10", f"c/{LATEST}"]


def test_nothing_is_copied_twice(run: Path, bucket: Bucket) -> None:
    copy_checkpoints(run, "c", bucket.put)
    assert copy_checkpoints(run, "c", bucket.put) == []
    (run / LATEST).write_text("20")
    assert copy_checkpoints(run, "c", bucket.put) == ["global_step_20"]
    assert (bucket.folder / "c" / LATEST).read_text() == "20"


def test_a_copy_that_broke_off_is_made_again(run: Path, bucket: Bucket) -> None:
    bucket.fails_at = "c/global_step_10"
    with pytest.raises(OSError, match="no way"):
        copy_checkpoints(run, "c", bucket.put)
    assert not (bucket.folder / "c" / LATEST).exists()
    bucket.fails_at = ""
    assert copy_checkpoints(run, "c", bucket.put) == ["global_step_10"]


def test_before_the_first_checkpoint(tmp_path: Path, bucket: Bucket) -> None:
    assert copy_checkpoints(tmp_path / "none", "c", bucket.put) == []
    assert copy_exports(tmp_path / "none", "e", bucket.put) == []


def test_exports_are_copied_whole(tmp_path: Path, bucket: Bucket) -> None:
    (tmp_path / "e" / "global_step_10" / "policy").mkdir(parents=True)
    (tmp_path / "e" / "global_step_20" / ".tmp-hf-export-1").mkdir(parents=True)
    (tmp_path / "e" / "dumped_evals").mkdir()
    assert copy_exports(tmp_path / "e", "e", bucket.put) == ["global_step_10"]
