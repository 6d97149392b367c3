"""`skydeck project`: projects and their members, through the local database."""

from enum import StrEnum
from typing import Annotated

import typer

app = typer.Typer(
    help="Make projects, and say who is in them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Slug = Annotated[
    str, typer.Argument(metavar="PROJECT", help="Short name of the project, such as vision.")
]
Person = Annotated[str, typer.Argument(metavar="USER", help="Name of the user.")]


class RoleName(StrEnum):
    """As `app.models.Role`, without importing the database for `--help`."""

    VIEWER = "viewer"
    MEMBER = "member"
    ADMINISTRATOR = "administrator"


@app.callback()
def _group() -> None:
    """Make projects, and say who is in them."""


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What people call it.")],
    id: Annotated[  # noqa: A002 - the option's name
        str | None, typer.Option(help="Short name for addresses; by default made from the name.")
    ] = None,
    administrator: Annotated[
        str | None, typer.Option(help="Name of the user who administers it.")
    ] = None,
) -> None:
    """Make a project and print its short name, alone, on stdout."""
    from app.commands.local_projects import make_project
    from app.settings import load_settings

    url = load_settings().url
    typer.echo(make_project(url, name, slug=id, administrator=administrator))


@app.command("list")
def list_projects() -> None:
    """Print all projects, one a line."""
    from app.commands.local_projects import all_projects
    from app.commands.tables import projects_table
    from app.settings import load_settings

    typer.echo(projects_table(*all_projects(load_settings().url)))


@app.command()
def members(project: Slug) -> None:
    """Print the members of a project, one a line."""
    from app.commands.local_projects import all_members
    from app.commands.tables import members_table
    from app.settings import load_settings

    typer.echo(members_table(all_members(load_settings().url, project)))


@app.command()
def member(
    project: Slug,
    user: Person,
    role: Annotated[RoleName, typer.Argument(help="What they may do in it.")],
) -> None:
    """Add somebody to a project, or change their role."""
    from app.commands.local_projects import put_member
    from app.settings import load_settings

    put_member(load_settings().url, project, user, role=role)


@app.command()
def remove(project: Slug, user: Person) -> None:
    """Take somebody out of a project. The last administrator stays."""
    from app.commands.local_projects import remove_member
    from app.settings import load_settings

    remove_member(load_settings().url, project, user)
