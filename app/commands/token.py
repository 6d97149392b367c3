"""`skydeck token`: API tokens, made through the local database."""

from enum import StrEnum
from typing import Annotated

import typer

app = typer.Typer(
    help="Make, list and revoke tokens of the API.", no_args_is_help=True, rich_markup_mode=None
)


class ScopeName(StrEnum):
    """As `app.users.service.Scope`, without importing the database for `--help`."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


@app.callback()
def _group() -> None:
    """Make, list and revoke tokens of the API."""


@app.command()
def create(
    name: Annotated[str, typer.Option(help="What the token is for; shown in lists and events.")],
    scope: Annotated[
        ScopeName, typer.Option(help="What it may do; each holds what the ones before it do.")
    ] = ScopeName.WRITE,
    days: Annotated[
        int | None, typer.Option(min=1, max=3650, help="How long it lasts; without, for ever.")
    ] = None,
    project: Annotated[
        str | None, typer.Option(help="The one project it is for; without, all of them.")
    ] = None,
) -> None:
    """Make a token and print it, alone, on stdout. It cannot be shown again."""
    from app.commands.local import make_token
    from app.settings import load_settings

    url = load_settings().url
    typer.echo(make_token(url, name=name, scope=scope, days=days, project=project))


@app.command("list")
def list_tokens() -> None:
    """Print all tokens that are not revoked, one a line, without their secrets."""
    from app.commands.local import in_database
    from app.commands.tables import tokens_table
    from app.settings import load_settings
    from app.users.service import list_tokens

    typer.echo(tokens_table(in_database(load_settings().url, list_tokens)))


@app.command()
def revoke(
    token_id: Annotated[
        str, typer.Argument(metavar="TOKEN", help="Id of the token, such as tok-4hd8k2mz.")
    ],
) -> None:
    """End a token at once."""
    from app.commands.local import revoke_token
    from app.settings import load_settings

    revoke_token(load_settings().url, token_id)
