"""Short real runs, and what must hold of one that ended: nothing missing, nothing twice."""

import time
from pathlib import Path
from typing import Any

from app.client import ENDED, Client
from app.errors import SkydeckError
from app.logs.parsers.eval_dump import parse_eval_dump
from app.logs.parsers.events import LogEventKind
from app.logs.parsers.skyrl import SkyRLConsoleParser
from app.ray.head_state import read_head_state
from app.ray.logs import job_log_path

RECIPE = "embedded-maze-grpo"
EVAL_EVERY = 4
SOLVE_RATE = "skydeck/eval/solve_rate"
RUN_SECONDS = 240.0
_POLL_SECONDS = 0.5


def launch(client: Client, *, steps: int) -> str:
    """A shortened run of the embedded recipe, some 0.3 s a step; returns its id."""
    config = {
        "trainer.max_training_steps": steps,
        "trainer.train_batch_size": 16,
        "trainer.policy_mini_batch_size": 8,
        "trainer.eval_interval": EVAL_EVERY,
        "trainer.ckpt_interval": EVAL_EVERY,
        "trainer.hf_save_interval": EVAL_EVERY,
    }
    experiment = client.create_experiment("short", RECIPE, config=config)
    return str(client.create_run(experiment["id"])["id"])


def wait_ended(client: Client, run_id: str, seconds: float = RUN_SECONDS) -> dict[str, Any]:
    """The run once it has ended; while the web is away, it is asked again."""
    deadline = time.monotonic() + seconds
    run: dict[str, Any] = {}
    while time.monotonic() < deadline:
        try:
            run = client.get_run(run_id)
        except SkydeckError:
            run = {}
        if run.get("status") in ENDED:
            return run
        time.sleep(_POLL_SECONDS)
    raise AssertionError(f"{run_id} has not ended after {seconds:.0f} s: {run}")


def check_stored(client: Client, home: Path, run_id: str, *, steps: int) -> None:
    """Log, series and evaluations are exactly those of the log file that Ray wrote."""
    run = client.get_run(run_id)
    assert run["status"] == "succeeded", run
    (attempt,) = run["attempts"]
    assert attempt["status"] == "succeeded"
    written = log_file(home, attempt["submission_id"]).read_bytes()
    assert b"".join(client.iter_log_bytes(run_id)) == written
    expected = series_in(written)
    assert expected["trainer/global_step"][0] == list(range(1, steps + 1))
    evaluated = sorted({0, *range(EVAL_EVERY, steps + 1, EVAL_EVERY), steps})
    assert expected[SOLVE_RATE][0] == evaluated
    stored = client.read_series([run_id], list(expected))
    assert {one["key"]: (one["step"], one["value"]) for one in stored} == expected
    counts = {one["key"]: one["count"] for one in client.list_metrics(run_id)}
    assert counts == {key: len(columns[0]) for key, columns in expected.items()}


def series_in(log: bytes) -> dict[str, tuple[list[int], list[float]]]:
    """Steps and values by key, from a whole log and the dumps that it names."""
    outcome = SkyRLConsoleParser.from_state(None).feed(log)
    points = [
        (key, block.step, float(value))
        for block in outcome.blocks
        for key, value in block.values.items()
    ]
    for event in outcome.events:
        if event.kind is LogEventKind.EVALUATION_DUMPED and event.step is not None:
            dump = parse_eval_dump(Path(event.path).read_bytes())
            points.append((SOLVE_RATE, event.step, dump.solved_count / len(dump.episodes)))
    found: dict[str, tuple[list[int], list[float]]] = {}
    for key, step, value in points:
        steps, values = found.setdefault(key, ([], []))
        steps.append(step)
        values.append(value)
    return found


def log_file(home: Path, submission_id: str) -> Path:
    state = read_head_state(home)
    assert state is not None
    assert state.session_dir is not None
    return job_log_path(state.session_dir, submission_id)
