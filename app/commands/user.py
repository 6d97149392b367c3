"""`skydeck user`: who may sign in, and links to do so, through the local database."""

from typing import Annotated

import typer

app = typer.Typer(
    help="List users and make sign-in links for them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _group() -> None:
    """List users and make sign-in links for them."""


@app.command()
def link(
    name: Annotated[
        str | None, typer.Argument(help="Who signs in; by default the first administrator.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(envvar="SKYDECK_URL", help="Address of the service, for the link."),
    ] = None,
) -> None:
    """Print a sign-in link, alone, on stdout. It works once, within 15 minutes."""
    from app.commands.local import make_sign_in_link
    from app.settings import load_settings

    typer.echo(make_sign_in_link(load_settings(), name, url=url))


@app.command("list")
def list_users() -> None:
    """Print all users, one a line."""
    from app.commands.local import all_users
    from app.commands.tables import users_table
    from app.settings import load_settings

    typer.echo(users_table(all_users(load_settings().url)))
