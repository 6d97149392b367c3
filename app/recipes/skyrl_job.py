"""The job of a SkyRL config: `train_job.sh` and the programs beside it."""

import hashlib
import posixpath
from collections.abc import Mapping
from typing import Any

from app.recipes import job_files, shell
from app.recipes.model import JOB, RUN_ID, Recipe
from app.recipes.skyrl.values import render_override
from app.recipes.sources import uploaded_digest

_TRAIN, _DATA, _COPY, _CODE = "train.py", "write_dataset.py", "copy_to_s3.py", "get_code.py"
_HEAD = """\
#!/usr/bin/env bash
# Recipe {name}, version {version}: made from the config alone. Submit it with the files beside it;
# it may be submitted again at any time, and then goes on from its newest checkpoint.
#
# Set right by default, and why:
# - Folders and names come from SKYDECK_RUN_ID, which stays the same in each attempt. A time of day
#   would let a resumed job export to a new folder while it reads its old checkpoints.
# - {data} writes the rows: seeds of training and evaluation never overlap.
# - Checkpoints go to storage that all nodes share: with LoRA on FSDP a save to s3:// fails.
#   {copy} copies them to S3 if the config says so.
# - {train} starts SkyRL and keeps whole epochs: SkyRL alone, resumed from a checkpoint at the end
#   of an epoch, leaves the next epoch out.
# - The base model is downloaded once, beside its place, and moved there in one step.
#
# Values are literal on purpose.
# shellcheck disable=SC2016
set -euo pipefail
: "${{SKYDECK_RUN_ID:?set it to the id of the run}}"
here=$(cd -- "$(dirname -- "${{BASH_SOURCE[0]}}")" && pwd)
"""
_DOWNLOAD = """\
model={path}
if [ ! -f "$model/config.json" ]; then
  part="$model.part-$SKYDECK_RUN_ID"
  mkdir -p -- "$part"
  get=(hf download)
  command -v hf >/dev/null || get=(huggingface-cli download)
  "${{get[@]}}" {repo} {options} --local-dir "$part"
  # Another job may have been quicker: its copy is as good.
  mv -T -- "$part"{folder} "$model" || [ -f "$model/config.json" ]
  rm -rf -- "$part"
fi
"""
_GET_CODE = """\
code={place}
if ! {{ [ -d {root} ] && mkdir -p -- "${{code%/*}}"; }}; then
  echo {warning} >&2
  code="$here/code"
fi
"""
_DIGITS = 12
_SHARED_RUN = f"/shared/runs/{RUN_ID}"
_PYTHONPATH = """\
cd -- {folder}
export PYTHONPATH="$PWD{code}${{PYTHONPATH:+:$PYTHONPATH}}"
export SKYRL_PYTHONPATH_EXPORT=1
"""
_COPYING = """\
copy=(python "$here/{copy}" {options})
"${{copy[@]}}" &
copier=$!
status=0
"""
_COPIED = """\
kill "$copier" 2>/dev/null || true
wait "$copier" || true
"${copy[@]}" --once || echo "Not all was copied to S3: what is missing is on shared storage." >&2
exit "$status"
"""


def script(recipe: Recipe, values: Mapping[str, Any]) -> str:
    """`train_job.sh` of full values."""
    head = _HEAD.format(
        name=recipe.name, version=recipe.version, data=_DATA, copy=_COPY, train=_TRAIN
    )
    return "\n".join(
        part
        for part in (
            head,
            shell.exports(values["job.environment"]),
            shell.run_each(values["job.setup_commands"]),
            get_code(values),
            _download(values),
            _write_data(values),
            _pythonpath(values),
            _train(recipe, values),
        )
        if part
    )


def companions(values: Mapping[str, Any]) -> dict[str, str]:
    """The programs that the script of these values calls, by file name."""
    names = [_TRAIN]
    names += [_DATA] if values["job.make_data"] else []
    names += [_COPY] if values["job.s3_copy"] else []
    return {name: job_files.read(f"skyrl/{name}") for name in names} | code_program(values)


def overrides(recipe: Recipe, values: Mapping[str, Any]) -> dict[str, Any]:
    """What is handed to SkyRL: fields left empty are left to SkyRL, where empty is its default."""
    fields = recipe.fields()
    empty = {k for k, each in fields.items() if recipe.absent.get(k, each.default) is None}
    return {
        key: value
        for key, value in values.items()
        if not key.startswith(JOB) and not (value is None and key in empty)
    }


def code_program(values: Mapping[str, Any]) -> dict[str, str]:
    """The program that fetches the user's code, if the job has to."""
    is_fetched = (
        bool(values["job.working_dir"]) and uploaded_digest(values["job.working_dir"]) is None
    )
    return {_CODE: job_files.read(f"skyrl/{_CODE}")} if is_fetched else {}


def code_folder(values: Mapping[str, Any]) -> str:
    """Where the user's code lies when the script runs, for double quotes of bash.

    An uploaded zip is unpacked beside the script, so that Ray gives it to every node; code that the
    job itself fetches has a folder of its own on storage that all nodes share.
    """
    return "$here" if uploaded_digest(values["job.working_dir"]) else "$code"


def get_code(values: Mapping[str, Any]) -> str:
    """Lines that fetch the user's code into its folder, where that is not there by itself."""
    if not code_program(values):
        return ""
    options = [shell.word(f"--exclude={pattern}") for pattern in values["job.excludes"]]
    source = shell.word(f"--source={values['job.working_dir']}")
    fetch = shell.command("python", f'"$here/{_CODE}"', source, '--into="$code"', *options)
    return _code_place(values) + fetch


def _code_place(values: Mapping[str, Any]) -> str:
    """Lines that set `code`: beside the run's checkpoints if they name their run.

    The folder is named by what it holds: another package with the same run's id gets another.
    """
    saved = posixpath.dirname(str(values.get("trainer.ckpt_path", "")).rstrip("/"))
    run = saved if saved.startswith("/") and RUN_ID in saved else _SHARED_RUN
    root = "/" + run.split("/")[1]
    content = "\n".join([values["job.working_dir"], *values["job.excludes"]])
    digest = hashlib.sha256(content.encode()).hexdigest()[:_DIGITS]
    warning = f"No place in {root} that nodes share: your code is on this node only"
    return _GET_CODE.format(
        place=shell.word(f"{run}/code-{digest}"),
        root=shell.word(root),
        warning=shell.word(warning),
    )


def _download(values: Mapping[str, Any]) -> str:
    """The part of the model is made beside its folder: a slash at the end would put it inside."""
    repo, folder = values["job.base_model_repo"], values["job.base_model_folder"].strip("/")
    if not repo:
        return ""
    options = [shell.word(f"--revision={values['job.base_model_revision']}")]
    options += [shell.word(f"--include={folder}/*")] if folder else []
    return _DOWNLOAD.format(
        path=shell.word(posixpath.normpath(values["trainer.policy.model.path"])),
        repo=shell.word(repo),
        options=" ".join(options),
        folder=f"/{shell.word(folder)}" if folder else "",
    )


def _write_data(values: Mapping[str, Any]) -> str:
    if not values["job.make_data"]:
        return ""
    first, rows = values["job.train_seed_offset"], values["job.eval_rows"]
    seeds = [] if first is None else [f"--first-seed={first}", f"--not-seeds=0:{rows}"]
    train = _write(values, "data.train_data", values["job.train_rows"], seeds)
    return train + _write(values, "data.val_data", rows, ["--first-seed=0"])


def _write(values: Mapping[str, Any], key: str, rows: int, seeds: list[str]) -> str:
    return shell.command(
        "python",
        f'"$here/{_DATA}"',
        shell.word(f"--env-id={values['job.env_id']}"),
        shell.word(f"--env-class={values['environment.env_class']}"),
        f"--rows={rows}",
        *seeds,
        shell.word(f"--output={values[key][0]}"),
    )


def _pythonpath(values: Mapping[str, Any]) -> str:
    code = f":{code_folder(values)}" if values["job.working_dir"] else ""
    return _PYTHONPATH.format(folder=shell.word(values["job.skyrl_dir"]), code=code)


def _train(recipe: Recipe, values: Mapping[str, Any]) -> str:
    arguments = [
        shell.word(render_override(key, value)) for key, value in overrides(recipe, values).items()
    ]
    variant = shell.word(f"--env-variant={values['job.env_variant']}")
    words = ("python", f'"$here/{_TRAIN}"', variant, *arguments)
    if not values["job.s3_copy"]:
        return "exec " + shell.command(*words)
    options = (
        f"--checkpoints={values['trainer.ckpt_path']}",
        f"--exports={values['trainer.export_path']}",
        f"--to={values['job.s3_copy']}",
    )
    start = _COPYING.format(copy=_COPY, options=" ".join(map(shell.word, options)))
    return start + shell.command(*words).rstrip("\n") + " || status=$?\n" + _COPIED
