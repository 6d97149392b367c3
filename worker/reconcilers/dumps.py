"""Reads the evaluation dump that a job's log names, from the run's own folder only."""

import logging
import stat
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID

from app.episodes.packed import kept, pack
from app.ids import new_id
from app.logs.parsers.eval_dump import EvalDump, parse_eval_dump
from app.logs.parsers.records import storable
from app.models import TrainingEvaluation

MAX_BYTES = 64 * 1024 * 1024
# What the column of paths holds.
MAX_PATH_CHARS = 1_000

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One evaluation at a training step; `time` is the log's, in Unix seconds, if it told one."""

    step: int
    path: str
    dump: EvalDump
    time: float | None
    rollouts: bytes
    """What was said in its episodes (`app/episodes/packed.py`)."""

    @property
    def solve_rate(self) -> float:
        """Share of episodes that reached the goal."""
        return self.dump.solved_count / len(self.dump.episodes)

    def row(self, run_id: UUID, attempt_number: int, *, now: datetime) -> TrainingEvaluation:
        """The row to store."""
        episodes = self.dump.episodes
        return TrainingEvaluation(
            id=new_id(),
            run_id=run_id,
            attempt_number=attempt_number,
            step=self.step,
            env_id=episodes[0].env_id,
            max_turns=episodes[0].max_turns,
            n=len(episodes),
            solved_count=self.dump.solved_count,
            passed_count=self.dump.passed_count,
            items=[
                {
                    "seed": episode.seed,
                    "solved": episode.is_solved,
                    "passed": episode.is_passed,
                    "turns": episode.turns,
                    "reward": episode.score_sum,
                    "kept": is_kept,
                }
                for episode, is_kept in zip(episodes, kept(episodes), strict=True)
            ],
            path=self.path,
            created_at=now,
        )


def read_evaluation(path: str, *, step: int, folder: Path, time: float | None) -> Evaluation | None:
    """The evaluation in the dump at `path`, relative ones from `folder`; None if there is none.

    The path comes from a log, in which a job may print anything: it must lie in the run's folder
    and be a plain file of bounded size.
    """
    try:
        file = _file_in(folder, path)
        dump = parse_eval_dump(_read(file))
    # RuntimeError: links that lead in a circle (Python before 3.13).
    except (OSError, RuntimeError, _Unfit) as error:
        log.warning("evaluation dump is not read: %.200s: %s", path, error)
        return None
    if not dump.episodes:
        return None
    return Evaluation(step, str(file), dump, time, pack(dump.episodes))


class _Unfit(Exception):
    """A path that a job may print and that is none of a dump."""


def _file_in(folder: Path, path: str) -> Path:
    file = (folder / path).resolve()
    if not file.is_relative_to(folder.resolve()):
        raise _Unfit("it lies outside of the run's folder")
    if len(str(file)) > MAX_PATH_CHARS or storable(str(file)) != str(file):
        raise _Unfit(f"its path has over {MAX_PATH_CHARS} characters, or is no text")
    return file


def _read(file: Path) -> bytes:
    found = file.stat()
    if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BYTES:
        raise _Unfit(f"it is no file of at most {MAX_BYTES} bytes")
    with file.open("rb") as opened:
        return opened.read(MAX_BYTES)
