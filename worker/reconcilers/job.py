"""The Ray job of an attempt: what is submitted, and the files it finds."""

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.models import Attempt, Run
from app.ray.processes import RUN_VARIABLE
from app.recipes import service as recipes
from app.recipes.model import Package
from app.recipes.shell import with_run_id
from app.recipes.variables import OF_EACH_JOB, OF_EACH_PACKAGE, for_every_process
from app.settings import ROOT


@dataclass(frozen=True, slots=True)
class Job:
    """What to submit under `submission_id`, in the run's `folder`, which is there before that.

    `files` by name belong into that folder; or, where the job `is_packed`, into the package that
    Ray unpacks on each node, with the user's code less what `excludes` says. `own_environment` is
    the config's.
    """

    submission_id: str
    folder: Path
    files: Mapping[str, str]
    entrypoint: str
    environment: Mapping[str, str]
    metadata: Mapping[str, str]
    is_packed: bool = False
    excludes: Sequence[str] = ()
    own_environment: Mapping[str, str] = field(default_factory=dict)


def submission_id(run: Run, number: int) -> str:
    """Ray's id for attempt `number` of a run; never used twice."""
    return f"{run.slug}-a{number}"


def job_of(run: Run, attempt: Attempt, runs_dir: Path) -> Job:
    """The job of a run with its config loaded. The same for each try to submit it."""
    folder = runs_dir / run.slug
    recipe = recipes.get(run.config.recipe)
    values = run.config.values
    files = recipes.render(recipe, values).files
    is_packed = recipe.package is not Package.ARGUMENTS
    script = next(iter(files))
    return Job(
        submission_id=attempt.submission_id,
        folder=folder,
        files=files,
        entrypoint=f"exec bash {script}" if is_packed else _entrypoint(folder / script),
        is_packed=is_packed,
        excludes=values.get("job.excludes") or (),
        own_environment=_own(values, run.slug) if is_packed else {},
        # Everybody who may look at the cluster can read these: nothing secret belongs here.
        environment={
            RUN_VARIABLE: run.slug,
            "SKYDECK_RUN_DIR": str(folder),
            **(OF_EACH_PACKAGE if is_packed else OF_EACH_JOB),
        },
        metadata={"job_name": run.name, "skydeck_run": run.slug},
    )


async def write_files(job: Job) -> None:
    """Makes the run's folder, which may exist, and puts files there that no package takes along.

    Raises OSError.
    """
    await asyncio.to_thread(_write, job)


def _write(job: Job) -> None:
    job.folder.mkdir(parents=True, exist_ok=True)
    for name, text in () if job.is_packed else job.files.items():
        (job.folder / name).write_text(text)


def _own(values: Mapping[str, Any], run_id: str) -> dict[str, str]:
    """The config's variables, for every process of the job; the script sets them for its own."""
    given = for_every_process(values.get("job.environment") or {})
    return {name: with_run_id(text, run_id) for name, text in given.items()}


def _entrypoint(script: Path) -> str:
    # `exec` lets Ray's signals reach the trainer itself. `python` is ours by the head's PATH.
    return f"cd {shlex.quote(str(ROOT))} && exec bash {shlex.quote(str(script))}"
