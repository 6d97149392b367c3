"""`skydeck token`: API tokens, made through the local database."""

from enum import StrEnum
from typing import Annotated

import typer

app = typer.Typer(help="Make tokens for the API.", no_args_is_help=True, rich_markup_mode=None)


class ScopeName(StrEnum):
    """As `app.users.service.Scope`, without importing the database for `--help`."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


@app.callback()
def _group() -> None:
    """Make tokens for the API."""


@app.command()
def create(
    name: Annotated[str, typer.Option(help="What the token is for; shown in lists and events.")],
    scope: Annotated[
        ScopeName, typer.Option(help="What it may do; each holds what the ones before it do.")
    ] = ScopeName.WRITE,
) -> None:
    """Make a token and print it, alone, on stdout. It cannot be shown again."""
    from app.commands.local import make_token
    from app.settings import load_settings

    typer.echo(make_token(load_settings().url, name=name, scope=scope))
