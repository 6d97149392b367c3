"""The data set writer: which rows, which seeds, and what it refuses. Files: see conformance."""

import ast
import sys
import types
from pathlib import Path

import pytest

from worker.jobs.skyrl import write_dataset
from worker.jobs.skyrl.write_dataset import Refused, check_seeds, make_rows


def test_rows_are_as_skyrl_reads_them() -> None:
    [row] = make_rows("maze_2d/easy", env_class="visgym", count=1, first_seed=None)
    assert row == {
        "prompt": [{"role": "user", "content": "placeholder"}],
        "env_class": "visgym",
        "visgym_env_id": "maze_2d/easy",
    }


def test_seeds_count_up_from_the_first() -> None:
    rows = make_rows("maze_2d/easy", env_class="visgym", count=3, first_seed=1000)
    assert [row["seed"] for row in rows] == [1000, 1001, 1002]


@pytest.mark.parametrize(("first", "count"), [(0, 1), (63, 1), (0, 256), (60, 10)])
def test_an_overlap_is_refused(first: int, count: int) -> None:
    with pytest.raises(Refused, match="start at 64 or later"):
        check_seeds(count, first, range(64))


@pytest.mark.parametrize(("first", "count"), [(64, 9), (None, 9), (1000, 256)])
def test_no_overlap_is_taken(first: int | None, count: int) -> None:
    check_seeds(count, first, range(64))
    check_seeds(count, first, range(0))


def test_an_overlap_ends_the_job(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    output = tmp_path / "rows.parquet"
    words = ["--env-id=x", "--rows=8", "--first-seed=60", "--not-seeds=0:64", f"--output={output}"]
    assert write_dataset.main(words) == 2
    assert "overlap" in capsys.readouterr().err
    assert not output.exists()


class Tables:
    """Stands for pyarrow, which is on a cluster only: writes the path of each file into it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.parts: list[Path] = []
        table = types.SimpleNamespace(replace_schema_metadata=lambda _marks: None)
        arrow = types.ModuleType("pyarrow")
        parquet = types.ModuleType("pyarrow.parquet")
        vars(arrow)["Table"] = types.SimpleNamespace(from_pylist=lambda _rows: table)
        vars(arrow)["parquet"] = parquet
        vars(parquet)["write_table"] = self._write
        monkeypatch.setitem(sys.modules, "pyarrow", arrow)
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", parquet)

    def _write(self, _table: object, path: Path) -> None:
        path.write_text("rows")
        self.parts.append(path)


def test_two_jobs_with_one_process_id_write_no_common_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = Tables(monkeypatch)
    for name in ("a", "b"):
        monkeypatch.setattr("os.getpid", lambda: 7)
        output = tmp_path / name / "train.parquet"
        write_dataset.write([], output)
        assert output.read_text() == "rows"
        assert [path.name for path in output.parent.iterdir()] == ["train.parquet"]
    first, second = (path.relative_to(tmp_path).parts[1:] for path in tables.parts)
    assert first != second


@pytest.mark.parametrize("words", [["--rows=-1"], ["--rows=x"], ["--first-seed=-1"], []])
def test_wrong_numbers_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        write_dataset.main(["--env-id=x", "--output=y", *words])


@pytest.mark.parametrize("name", ["write_dataset", "train", "copy_to_s3", "get_code"])
def test_each_program_stands_alone(name: str) -> None:
    text = (Path(write_dataset.__file__).parent / f"{name}.py").read_text()
    on_import = [
        node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    names = {
        each.partition(".")[0]
        for node in on_import
        for each in (
            [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        )
    }
    assert names <= sys.stdlib_module_names
