"""The job's own programs on the real thing: torchdata's loader, and SkyRL's data set code."""

import json
import os
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from app.settings import ROOT

HERE = Path(__file__).parent
JOBS = ROOT / "worker" / "jobs" / "skyrl"
INDEX_UNREACHABLE = 75
# 25 rows in batches of 4, for 3 epochs: see torchdata_real.py.
AN_EPOCH, EPOCHS = 6, 3
pytestmark = [pytest.mark.slow_env, pytest.mark.timeout(540)]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("torchdata") / "venv"
    made = subprocess.run(
        [HERE / "torchdata_venv.sh", folder], capture_output=True, text=True, timeout=500
    )
    if made.returncode == INDEX_UNREACHABLE:
        pytest.skip(f"no index has torch for CPUs and torchdata: {made.stderr}")
    assert made.returncode == 0, made.stderr
    return folder / "bin" / "python"


def call(python: Path, *words: str | Path) -> str:
    # What `datasets` keeps of files that it has read belongs to this environment.
    environment = os.environ | {"HF_HOME": str(python.parents[1] / "cache")}
    answer = subprocess.run(
        [python, *words], capture_output=True, text=True, timeout=300, env=environment
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@pytest.mark.parametrize(("workers", "steps"), [(0, range(1, 19)), (2, (4, 6, 12))])
def test_a_resume_loses_and_repeats_no_batch(python: Path, workers: int, steps: Any) -> None:
    words = [str(step) for step in steps]
    found = json.loads(call(python, HERE / "torchdata_real.py", JOBS, str(workers), *words))
    whole = found["whole"]
    assert len(whole) == AN_EPOCH * EPOCHS
    lost = repeated = 0
    for step, resumed in found["wrapped"].items():
        done = int(step)
        lost += len(whole) - done - len(resumed)
        rows: dict[int, list[int]] = defaultdict(list)
        for epoch, batch in whole[:done] + resumed:
            rows[epoch] += batch
        repeated += sum(len(seen) - len(set(seen)) for seen in rows.values())
        left = AN_EPOCH - done % AN_EPOCH if done % AN_EPOCH else 0
        assert resumed[:left] == whole[done : done + left]
        if workers:
            assert resumed == whole[done:]
    assert (lost, repeated) == (0, 0)
    assert found["wrapped"].keys() == set(words)


def test_without_the_wrapper_an_epoch_is_lost(python: Path) -> None:
    found = json.loads(call(python, HERE / "torchdata_real.py", JOBS, "0", "6", "12"))
    assert {step: len(found["plain"][step]) for step in ("6", "12")} == {"6": AN_EPOCH, "12": 0}


def test_skyrls_own_code_loads_the_rows(python: Path, tmp_path: Path) -> None:
    train, evaluation, bare = (tmp_path / f"{name}.parquet" for name in ("train", "eval", "bare"))
    writer = JOBS / "write_dataset.py"
    base = ("--env-id=maze_2d/easy",)
    seeds = ("--first-seed=1000", "--not-seeds=0:64")
    call(python, writer, *base, "--rows=256", *seeds, f"--output={train}")
    call(python, writer, *base, "--rows=64", "--first-seed=0", f"--output={evaluation}")
    call(python, writer, *base, "--rows=3", f"--output={bare}")
    said = call(python, HERE / "skyrl_rows.py", train, evaluation, bare)
    loaded = [json.loads(line) for line in said.splitlines()]
    messages, env_class, extras = loaded[0][0]
    assert messages == [{"role": "user", "content": "placeholder"}]
    assert (env_class, extras) == ("visgym", {"visgym_env_id": "maze_2d/easy", "seed": 1000})
    trained, played = ({row[2]["seed"] for row in rows} for rows in loaded[:2])
    assert (len(trained), played) == (256, set(range(64)))
    assert trained.isdisjoint(played)
    assert [row[2] for row in loaded[2]] == [{"visgym_env_id": "maze_2d/easy"}] * 3


def test_writing_again_gives_the_same_file_and_spares_others(python: Path, tmp_path: Path) -> None:
    output = tmp_path / "rows.parquet"
    words = (JOBS / "write_dataset.py", "--env-id=x", "--rows=8", f"--output={output}")
    call(python, *words)
    first = output.read_bytes()
    call(python, *words)
    assert output.read_bytes() == first
    assert [each.name for each in tmp_path.iterdir()] == [output.name]
    foreign = (
        "import pyarrow as pa, pyarrow.parquet as pq, sys; "
        "pq.write_table(pa.table({'a': [1]}), sys.argv[1])"
    )
    call(python, "-c", foreign, output)
    theirs = output.read_bytes()
    answer = subprocess.run([python, *words], capture_output=True, text=True)
    assert (answer.returncode, output.read_bytes()) == (2, theirs)
    assert "take another path" in answer.stderr
