"""`skydeck code`: uploads code for runs, over the API."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from app.commands.target import EPILOG, AsJson, Token, Url, client_of
from app.errors import SkydeckError

app = typer.Typer(
    help="Upload code for runs, over the API of a running Skydeck.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=EPILOG,
)


@app.callback()
def _target(context: typer.Context, url: Url = None, token: Token = None) -> None:
    """Upload code for runs, over the API of a running Skydeck."""
    context.obj = (url, token)


@app.command()
def upload(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="A folder, or a zip that is made already.")],
    project: Annotated[
        str | None, typer.Option(help="Project whose runs may use it; see `project list`.")
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Pattern, as in .gitignore, of what stays behind; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Upload a folder, less what its .gitignore files name, and print its reference.

    The reference goes into a config: `--set job.working_dir=REFERENCE`.
    """
    data = _read(path, exclude or [])
    with client_of(context) as client:
        found = client.upload_code(data, name=path.resolve().name, project=project)
    sys.stdout.write((json.dumps(found, indent=2) if as_json else found["reference"]) + "\n")
    sys.stderr.write(f"{found['file_count']:,} files, {found['size_bytes']:,} bytes\n")


def _read(path: Path, excludes: list[str]) -> bytes:
    from app.code.folder import pack

    try:
        if path.is_dir():
            return pack(path, excludes)
        if excludes:
            raise SkydeckError("--exclude is for folders: a zip is sent as it is")
        return path.read_bytes()
    except OSError as error:
        raise SkydeckError(f"{error.filename or path} cannot be read: {error.strerror}") from None
