"""The base and a promoted adapter, played over the embedded endpoint, solve exactly what the
trainer's own evaluation says of the same weights: the same mazes, in as many turns."""

import io
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.db import Database
from app.evaluations import service
from app.maze.eval_sets import EASY_SOLVABLE_15
from app.models import EvaluationStatus
from app.settings import ROOT
from tests.evaluations.factories import make_evaluation, make_loop
from tests.evaluations.served import ServedModels
from worker.jobs.maze_grpo.base import BASE_FILE
from worker.jobs.maze_grpo.config import parse
from worker.jobs.maze_grpo.console import Console
from worker.jobs.maze_grpo.evaluate import Evaluation, Evaluator
from worker.jobs.maze_grpo.export import read_adapter, read_base
from worker.jobs.maze_grpo.model import Policy
from worker.jobs.maze_grpo.train import Trainer

ADAPTER = "maze-grpo"
STEPS = 10
MOST_CPU_SECONDS = 20.0
Played = list[tuple[int, bool, int]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder whose adapter some steps of training made."""
    run, home = tmp_path_factory.mktemp("run"), tmp_path_factory.mktemp("home")
    settings = [
        f"trainer.max_training_steps={STEPS}",
        "trainer.eval_interval=-1",
        "trainer.eval_before_train=false",
        "trainer.ckpt_interval=-1",
        f"trainer.hf_save_interval={STEPS}",
    ]
    config = parse(settings, run_folder=run)
    Trainer(config, Console(io.StringIO()), stop_asked=lambda: False).run()
    (exported,) = run.rglob(f"global_step_{STEPS}/policy")
    (home / "adapters").mkdir()
    exported.rename(home / "adapters" / ADAPTER)
    return home


@pytest.fixture(scope="module")
def endpoint(home: Path) -> Iterator[tuple[ServedModels, psutil.Process]]:
    command = [sys.executable, "-m", "worker.serving", "--home", str(home)]
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            found = _announced(home / "endpoint.json")
            models = ServedModels(found["base_url"], found["key"])
            yield models, psutil.Process(process.pid)
        finally:
            process.terminate()


async def test_served_equals_trained(
    sqlite_database: Database,
    home: Path,
    endpoint: tuple[ServedModels, psutil.Process],
) -> None:
    models, server = endpoint
    before = time.process_time() + _cpu_seconds(server)
    made = await make_evaluation(
        sqlite_database,
        models,
        "maze-base",
        f"maze-base:{ADAPTER}",
        eval_set=EASY_SOLVABLE_15,
    )
    loop = make_loop(sqlite_database, models, concurrency=64)
    while await loop.turn():
        pass
    seconds = time.process_time() + _cpu_seconds(server) - before
    async with sqlite_database.read() as session:
        ended = await service.get(session, made.slug)
        items = await service.list_played(session, ended)
    assert ended.status is EvaluationStatus.SUCCEEDED

    played: list[Played] = [
        [(each.seed, each.is_solved, each.turns) for each in items if each.model_number == number]
        for number in range(2)
    ]
    base, adapted = _trained(home)
    assert played[0] == _of(base)
    assert played[1] == _of(adapted)
    rates = [sum(solved for _, solved, _ in model) for model in played]
    assert rates == [base.solved, adapted.solved]
    assert rates[0] != rates[1], "the training changed nothing, so nothing is shown"
    turns = sum(each.turns for each in items)
    print(f"{seconds:.1f} CPU seconds for {turns} turns; solved {rates} of 64")  # noqa: T201
    assert seconds <= MOST_CPU_SECONDS, f"{seconds:.1f} CPU seconds for {turns} turns"


def _trained(home: Path) -> tuple[Evaluation, Evaluation]:
    """The trainer's evaluation of the base and of the adapter."""
    evaluator, (base, _) = Evaluator(EASY_SOLVABLE_15), read_base(BASE_FILE)
    lora, adapter, _ = read_adapter(home / "adapters" / ADAPTER)
    merged = lora.merge(base, adapter)
    return evaluator.evaluate(Policy(base)), evaluator.evaluate(Policy(merged))


def _of(evaluation: Evaluation) -> Played:
    return [(each.seed, each.reward > 0, each.turns) for each in evaluation.played]


def _announced(file: Path) -> dict[str, str]:
    for _ in range(200):
        if file.exists():
            found: dict[str, str] = json.loads(file.read_text())
            return found
        time.sleep(0.1)
    raise AssertionError("the endpoint does not start")


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system
