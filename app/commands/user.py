"""`skydeck user`: accounts, and links to sign in, through the local database."""

from enum import StrEnum
from typing import Annotated

import typer

app = typer.Typer(
    help="Make and change accounts, and links to sign in.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Name = Annotated[str, typer.Argument(help="Name of the user.")]
Url = Annotated[
    str | None, typer.Option(envvar="SKYDECK_URL", help="Address of the service, for the link.")
]


class SiteRole(StrEnum):
    """Of the whole site; what members may do is a matter of their projects."""

    ADMINISTRATOR = "administrator"
    MEMBER = "member"


@app.callback()
def _group() -> None:
    """Make and change accounts, and links to sign in."""


@app.command()
def add(
    name: Name,
    administrator: Annotated[
        bool, typer.Option("--administrator", help="Make an administrator of the site.")
    ] = False,
    password: Annotated[
        bool,
        typer.Option("--password", help="Ask for the password, or read it as one line of stdin."),
    ] = False,
    url: Url = None,
) -> None:
    """Make an account and print a link, alone, on stdout, by which the person sets a password.

    The link works once, within 24 hours. With --password there is none: the password is asked for.
    """
    from app.commands import accounts
    from app.settings import load_settings

    settings = load_settings()
    if password:
        accounts.add_user_with_password(settings.url, name, is_admin=administrator)
    else:
        typer.echo(accounts.add_user(settings, name, is_admin=administrator, url=url))


@app.command("list")
def list_users() -> None:
    """Print all users, one a line."""
    from app.commands.accounts import all_users
    from app.commands.tables import users_table
    from app.settings import load_settings

    typer.echo(users_table(all_users(load_settings().url)))


@app.command()
def role(name: Name, role: Annotated[SiteRole, typer.Argument(help="The new role.")]) -> None:
    """Make somebody an administrator of the site, or a member. One administrator always stays."""
    from app.commands.accounts import set_role
    from app.settings import load_settings

    set_role(load_settings().url, name, is_admin=role is SiteRole.ADMINISTRATOR)


@app.command()
def password(name: Name) -> None:
    """Set a password, asked for or read as one line of stdin. Signs out all browsers of the user.

    It is never an argument: those are seen by everybody on the machine.
    """
    from app.commands.accounts import set_password
    from app.settings import load_settings

    set_password(load_settings().url, name)


@app.command()
def disable(name: Name) -> None:
    """Shut somebody out: sessions, tokens, links and open invites end at once."""
    from app.commands.accounts import set_disabled
    from app.settings import load_settings

    set_disabled(load_settings().url, name, is_disabled=True)


@app.command()
def enable(name: Name) -> None:
    """Let somebody in again. What had ended stays ended."""
    from app.commands.accounts import set_disabled
    from app.settings import load_settings

    set_disabled(load_settings().url, name, is_disabled=False)


@app.command()
def link(
    name: Annotated[
        str | None, typer.Argument(help="Who signs in; by default the first administrator.")
    ] = None,
    url: Url = None,
) -> None:
    """Print a sign-in link, alone, on stdout. It works once, within 15 minutes."""
    from app.commands.accounts import make_sign_in_link
    from app.settings import load_settings

    typer.echo(make_sign_in_link(load_settings(), name, url=url))
