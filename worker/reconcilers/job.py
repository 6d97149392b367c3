"""The Ray job of an attempt: what is submitted, and the files it finds."""

import asyncio
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.models import Attempt, Run
from app.ray.processes import RUN_VARIABLE
from app.recipes import service as recipes
from app.settings import ROOT

# Time that a stopped trainer has to save its state before Ray kills it.
_STOP_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Job:
    """What to submit under `submission_id`; `files` by name belong into `folder` before that."""

    submission_id: str
    folder: Path
    files: Mapping[str, str]
    entrypoint: str
    environment: Mapping[str, str]
    metadata: Mapping[str, str]


def submission_id(run: Run, number: int) -> str:
    """Ray's id for attempt `number` of a run; never used twice."""
    return f"{run.slug}-a{number}"


def job_of(run: Run, attempt: Attempt, runs_dir: Path) -> Job:
    """The job of a run with its config loaded. The same for each try to submit it."""
    folder = runs_dir / run.slug
    recipe = recipes.get(run.config.recipe)
    files = recipes.render(recipe, run.config.values).files
    return Job(
        submission_id=attempt.submission_id,
        folder=folder,
        files=files,
        entrypoint=_entrypoint(folder / next(iter(files))),
        # Everybody who may look at the cluster can read these: nothing secret belongs here.
        environment={
            RUN_VARIABLE: run.slug,
            "SKYDECK_RUN_DIR": str(folder),
            "RAY_JOB_STOP_WAIT_TIME_S": str(_STOP_SECONDS),
            "PYTHONUNBUFFERED": "1",
            # A log names no zone; the log reconciler reads its times as UTC.
            "TZ": "UTC",
        },
        metadata={"job_name": run.name, "skydeck_run": run.slug},
    )


async def write_files(job: Job) -> None:
    """Puts the job's files into its folder, which may exist. Raises OSError."""
    await asyncio.to_thread(_write, job)


def _write(job: Job) -> None:
    job.folder.mkdir(parents=True, exist_ok=True)
    for name, text in job.files.items():
        (job.folder / name).write_text(text)


def _entrypoint(script: Path) -> str:
    # `exec` lets Ray's signals reach the trainer itself. `python` is ours by the head's PATH.
    return f"cd {shlex.quote(str(ROOT))} && exec bash {shlex.quote(str(script))}"
