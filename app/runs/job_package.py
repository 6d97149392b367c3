"""What the config tab of a run shows and hands out: its values, and the files of its job."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from app.code import service as code
from app.db import Database
from app.errors import NotFound, Unavailable
from app.models import CodeUpload, Run
from app.recipes import service as recipes
from app.runs.contexts import ConfigPage, RunHead
from app.web.config_table import config_changes, config_groups, find_recipe

_PIECE = 1 << 20


def config_page(run: Run, head: RunHead) -> ConfigPage:
    """For a run with its config loaded."""
    config = run.config
    recipe = find_recipe(config.recipe)
    rendered = recipes.render(recipe, config.values) if recipe else None
    return ConfigPage(
        head=head,
        recipe=f"{config.recipe} v{config.recipe_version}",
        digest=config.digest,
        groups=config_groups(config.values, recipe),
        changes=config_changes(config.values, recipe) if recipe else [],
        files=list(rendered.files.items()) if rendered else [],
        submit_command=rendered.submit_command if rendered else "",
        package_url=f"/runs/{run.slug}/package.zip",
    )


async def open_package(
    database: Database, home: Path, run: Run, upload: CodeUpload | None
) -> AsyncIterator[bytes]:
    """The bytes of the job's package, the uploaded code among them, as the worker submits it.

    Raises `NotFound` for a run that others execute, `Unavailable` if the disk of `home` is full,
    `Conflict` if no package can be made.
    """
    recipe = find_recipe(run.config.recipe)
    if recipe is None:
        raise NotFound("this run has no job package: Skydeck does not start it")
    values = run.config.values
    files, excludes = recipes.render(recipe, values).files, values.get("job.excludes") or ()
    try:
        with ExitStack() as opened:
            file = opened.enter_context(await asyncio.to_thread(_open, home))
            await code.pack(database, upload, file, files=files, excludes=excludes)
            opened.pop_all()
            return _pieces(file)
    except OSError as error:
        reason = error.strerror or str(error)
        raise Unavailable(f"the package cannot be made here now ({reason})") from error


def _open(home: Path) -> BinaryIO:
    return tempfile.TemporaryFile(dir=home)


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        await asyncio.to_thread(file.seek, 0)
        while piece := await asyncio.to_thread(file.read, _PIECE):
            yield piece
