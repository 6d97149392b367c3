"""From a config to the files of its job. Pure and deterministic: the same config, the same bytes.

The script reads the run's id when it runs, so that it does not depend on the run. Every value is
quoted: no config can run anything in the shell, save the commands that it names as commands.
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.recipes import command_job, shell, skyrl_job
from app.recipes.common import secret_names
from app.recipes.model import RUN_ID, Package, Recipe, Value
from app.recipes.sources import uploaded_digest
from app.recipes.variables import OF_EACH_JOB, OF_EACH_PACKAGE, for_every_process

SCRIPT = "train_job.sh"
_JOB = "job."
_HEAD = """\
#!/usr/bin/env bash
# Recipe {name}, version {version}. Wants SKYDECK_RUN_ID and SKYDECK_RUN_DIR in its environment.
set -euo pipefail
: "${{SKYDECK_RUN_ID:?set it to the id of the run}}"
: "${{SKYDECK_RUN_DIR:?set it to the folder of the run}}"
"""
_SUBMIT = """\
ray job submit --address "$RAY_API_SERVER_ADDRESS" --submission-id "$SKYDECK_RUN_ID-a1" \\
  {options}--runtime-env-json {environment} \\
  -- {command}"""
_RUN_IN_PLACE = (
    'env SKYDECK_RUN_ID="$SKYDECK_RUN_ID" SKYDECK_RUN_DIR="$SKYDECK_RUN_DIR" '
    f'bash "$SKYDECK_RUN_DIR/{SCRIPT}"'
)
_UPLOADED = "# First unzip into this folder, under the files of the job, the code {code}\n"
_SECRETS = "# The secrets of the config are not in env_vars; add them there: {names}\n"


@dataclass(frozen=True, slots=True)
class Rendered:
    """Files by name, and the command that submits them to a Ray cluster."""

    files: dict[str, str]
    submit_command: str


def render(recipe: Recipe, values: Mapping[str, Value]) -> Rendered:
    """Renders full values, as `service.resolve` gives them.

    The submit command of a package of several files is run in a folder that holds them.
    """
    if recipe.package is Package.ARGUMENTS:
        command = _SUBMIT.format(
            options="", environment=_environment(OF_EACH_JOB), command=_RUN_IN_PLACE
        )
        return Rendered({SCRIPT: _script(recipe, values)}, command)
    job = skyrl_job if recipe.package is Package.SKYRL else command_job
    files = {SCRIPT: job.script(recipe, values)} | job.companions(values)
    return Rendered(files, _submit_folder(values))


def _submit_folder(values: Mapping[str, Any]) -> str:
    """What submits a folder with the job's files as the worker submits its package."""
    given = {
        "SKYDECK_RUN_ID": RUN_ID,
        **for_every_process(values["job.environment"]),
        **OF_EACH_PACKAGE,
    }
    code, secrets = values["job.working_dir"], secret_names(values)
    command = _SUBMIT.format(
        options="--working-dir . ", environment=_environment(given), command=f"bash {SCRIPT}"
    )
    return (
        (_UPLOADED.format(code=code) if uploaded_digest(code) else "")
        + (_SECRETS.format(names=", ".join(secrets)) if secrets else "")
        + command
    )


def _environment(given: Mapping[str, str]) -> str:
    return shell.word(json.dumps({"env_vars": dict(given)}, ensure_ascii=False))


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
