"""The job of any command: `train_job.sh`, and what fetches the user's code."""

from collections.abc import Mapping
from typing import Any

from app.recipes import shell, skyrl_job
from app.recipes.model import Recipe

_HEAD = """\
#!/usr/bin/env bash
# Recipe {name}, version {version}: made from the config alone. Submit it with the files beside it.
# SKYDECK_RUN_ID stays the same in each attempt; SKYDECK_RUN_DIR is a folder for what the run keeps.
#
# Values are literal on purpose.
# shellcheck disable=SC2016
set -euo pipefail
: "${{SKYDECK_RUN_ID:?set it to the id of the run}}"
export SKYDECK_RUN_DIR="${{SKYDECK_RUN_DIR:-/shared/runs/$SKYDECK_RUN_ID}}"
"""
_HERE = 'here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)\n'
_ENTER_CODE = """\
cd -- {folder}
export PYTHONPATH="$PWD${{PYTHONPATH:+:$PYTHONPATH}}"
"""


def script(recipe: Recipe, values: Mapping[str, Any]) -> str:
    """`train_job.sh` of full values."""
    source = values["job.working_dir"]
    parts = (
        _HEAD.format(name=recipe.name, version=recipe.version),
        shell.exports(values["job.environment"]),
        _code(values) if source else "",
        shell.run_each(values["job.setup_commands"]),
        f"exec bash -c {shell.word(values['job.entrypoint'])}\n",
    )
    return "\n".join(part for part in parts if part)


def companions(values: Mapping[str, Any]) -> dict[str, str]:
    """The programs that the script of these values calls, by file name."""
    return skyrl_job.code_program(values)


def _code(values: Mapping[str, Any]) -> str:
    folder = skyrl_job.code_folder(values)
    return _HERE + skyrl_job.get_code(values) + _ENTER_CODE.format(folder=f'"{folder}"')
