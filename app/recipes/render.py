"""From a config to the files of its job. Pure and deterministic: the same config, the same bytes.

The script reads the run's id when it runs, so that it does not depend on the run. Every value is
quoted: no config can run anything in the shell, save the commands that it names as commands.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from app.recipes import command_job, skyrl_job
from app.recipes.model import Package, Recipe, Value

SCRIPT = "train_job.sh"
_JOB = "job."
_HEAD = """\
#!/usr/bin/env bash
# Recipe {name}, version {version}. Wants SKYDECK_RUN_ID and SKYDECK_RUN_DIR in its environment.
set -euo pipefail
: "${{SKYDECK_RUN_ID:?set it to the id of the run}}"
: "${{SKYDECK_RUN_DIR:?set it to the folder of the run}}"
"""
_SUBMIT = (
    'ray job submit --address "$RAY_API_SERVER_ADDRESS" --submission-id "$SKYDECK_RUN_ID-a1" '
    '-- env SKYDECK_RUN_ID="$SKYDECK_RUN_ID" SKYDECK_RUN_DIR="$SKYDECK_RUN_DIR" '
    f'bash "$SKYDECK_RUN_DIR/{SCRIPT}"'
)
_SUBMIT_FOLDER = (
    'ray job submit --address "$RAY_API_SERVER_ADDRESS" --submission-id "$SKYDECK_RUN_ID-a1" '
    f'--working-dir . -- env SKYDECK_RUN_ID="$SKYDECK_RUN_ID" bash {SCRIPT}'
)


@dataclass(frozen=True, slots=True)
class Rendered:
    """Files by name, and the command that submits them to a Ray cluster."""

    files: dict[str, str]
    submit_command: str


def render(recipe: Recipe, values: Mapping[str, Value]) -> Rendered:
    """Renders full values, as `service.resolve` gives them.

    The submit command of a package of several files is run in a folder that holds them.
    """
    if recipe.package is Package.SKYRL:
        files = {SCRIPT: skyrl_job.script(recipe, values)} | skyrl_job.companions(values)
        return Rendered(files, _SUBMIT_FOLDER)
    if recipe.package is Package.COMMAND:
        files = {SCRIPT: command_job.script(recipe, values)} | command_job.companions(values)
        return Rendered(files, _SUBMIT_FOLDER)
    return Rendered({SCRIPT: _script(recipe, values)}, _SUBMIT)


def _script(recipe: Recipe, values: Mapping[str, Value]) -> str:
    head = _HEAD.format(name=recipe.name, version=recipe.version)
    exports = "".join(f"export {name}={shlex.quote(v)}\n" for name, v in recipe.environment)
    # Keys of the job are ours, not the trainer's.
    keys = [key for key in recipe.fields() if not key.startswith(_JOB)]
    arguments = [f"{key}={argument(values[key])}" for key in keys]
    lines = [
        "exec " + shlex.join(recipe.entrypoint),
        '  trainer.run_name="$SKYDECK_RUN_ID"',
        *(f"  {shlex.quote(text)}" for text in arguments),
    ]
    return head + exports + " \\\n".join(lines) + "\n"


def argument(value: Value) -> str:
    """A value as the trainer reads it: `true`, `0.002`, `280`, text as it is."""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)
