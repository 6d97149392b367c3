"""`skydeck config`: check, render, import and compare configs, over the API."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.target import EPILOG, AsJson, Token, Url, client_of
from app.errors import SkydeckError

if TYPE_CHECKING:
    from app.client import Client

app = typer.Typer(
    help="Check, render, import and compare configs, over the API of a running Skydeck.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=EPILOG,
)
File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A config (JSON, TOML or YAML with recipe and config), a train_job.sh, a file of "
        "overrides, or a dump of SkyRL's config; - reads standard input.",
    ),
]
_MOST_BYTES = 900_000


@app.callback()
def _target(context: typer.Context, url: Url = None, token: Token = None) -> None:
    """Check, render, import and compare configs, over the API of a running Skydeck."""
    context.obj = (url, token)


@app.command()
def validate(
    context: typer.Context,
    file: File,
    cluster: Annotated[str | None, typer.Option(help="Cluster that it is to run on.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what would stop a launch, and what is worth a second look. Exit 1 on an error."""
    with client_of(context) as client:
        recipe, config = _read(client, file)
        found = client.validate(recipe, config, cluster=cluster)
    _say(_text(found) if as_json else _findings(found))
    raise typer.Exit(0 if found["ok"] else 1)


@app.command()
def render(
    context: typer.Context,
    file: File,
    out: Annotated[
        Path | None, typer.Option(help="Folder that all files of the job are written to.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the train_job.sh of a config; with --out, write the whole job package."""
    with client_of(context) as client:
        recipe, config = _read(client, file)
        rendered = client.render(recipe, config)
    if as_json:
        _say(_text(rendered))
    elif out is None:
        sys.stdout.write(rendered["files"]["train_job.sh"])
    else:
        _write(out, rendered["files"])
        _say(rendered["submit_command"])


@app.command("import")
def import_config(context: typer.Context, file: File, as_json: AsJson = False) -> None:
    """Print a config made from a script, a submit command, overrides or a dump.

    The config can be launched by `skydeck run submit`. What was not understood goes to stderr.
    """
    text = _read_text(file)
    with client_of(context) as client:
        found = client.import_config(text)
    for each in found["unresolved"]:
        sys.stderr.write(f"not understood: {_remark(each)}\n")
    plan = {"recipe": found["recipe"], "config": found["config"]}
    _say(_text(found if as_json else plan))


@app.command()
def diff(
    context: typer.Context,
    file: File,
    other: Annotated[
        str | None, typer.Argument(metavar="[OTHER]", help="Another config; else the recipe.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print where a config differs from its recipe, or from another config."""
    with client_of(context) as client:
        recipe, config = _read(client, file)
        items = client.diff(recipe, config, other=_read(client, other) if other else None)
    if as_json:
        _say(_text(items))
    else:
        for each in items:
            _say(f"{each['key']}: {_side(each, 'before')} → {_side(each, 'after')}")


def _read(client: "Client", file: str) -> tuple[str, dict[str, Any]]:
    """Recipe and config of a file; what was not understood goes to stderr."""
    from app.commands.plans import read_plan

    if Path(file).suffix == ".toml":
        plan = read_plan(file, [])
        return plan.recipe, plan.config
    found = client.import_config(_read_text(file))
    for each in found["unresolved"]:
        sys.stderr.write(f"not understood: {_remark(each)}\n")
    if found["unresolved"] and not found["config"]:
        # The recipe's own values would be judged instead.
        raise SkydeckError(f"nothing in {file} was understood as a config")
    return found["recipe"], found["config"]


def _read_text(file: str) -> str:
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise SkydeckError(f"{file} cannot be read: {error.strerror}") from None
    if len(content) > _MOST_BYTES:
        raise SkydeckError(f"{file} has {len(content):,} bytes: that is no config")
    return content.decode(errors="replace")


def _write(folder: Path, files: dict[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text)
            sys.stderr.write(f"wrote {folder / name}\n")
    except OSError as error:
        raise SkydeckError(f"{folder} cannot be written to: {error.strerror}") from None


def _findings(found: dict[str, Any]) -> str:
    lines = [
        f"{kind}: {', '.join(each['fields'])}: {each['message']}"
        + (f": {each[fix]}" if each[fix] else "")
        for kind, name, fix in (
            ("error", "errors", "suggestion"),
            ("warning", "warnings", "fix"),
            ("note", "notes", "fix"),
        )
        for each in found[name]
    ]
    return "\n".join([*lines, "ok" if found["ok"] else "not ok"])


def _remark(remark: dict[str, Any]) -> str:
    text = " ".join(remark["text"].split())
    return f"line {remark['line']}: {text[:100]}: {remark['reason']}"


def _side(change: dict[str, Any], side: str) -> str:
    is_absent = change["is_new"] if side == "before" else change["is_gone"]
    return "not set" if is_absent else json.dumps(change[side], ensure_ascii=False)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _text(answer: Any) -> str:
    return json.dumps(answer, indent=2)
