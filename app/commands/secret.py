"""`skydeck secret`: values that jobs find in their environment, through the local database."""

from typing import Annotated

import typer

app = typer.Typer(
    help="Set secrets for jobs, and rotate the key they are encrypted with.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(help="The environment variable, such as HF_TOKEN.")]
ProjectOption = Annotated[str, typer.Option("--project", help="The project, by its short name.")]
SiteOption = Annotated[bool, typer.Option("--site", help="One of the whole site instead.")]


@app.callback()
def _group() -> None:
    """Set secrets for jobs, and rotate the key they are encrypted with."""


@app.command("set")
def set_secret(name: Name, project: ProjectOption = "default", site: SiteOption = False) -> None:
    """Set or replace a secret. The value is asked for, or read from stdin; it is never shown."""
    from app.commands.local_secrets import read_value, set_value
    from app.settings import load_settings

    is_new = set_value(load_settings(), None if site else project, name, read_value(name))
    typer.echo(f"{name} {'set' if is_new else 'replaced'}")


@app.command("list")
def list_secrets(project: ProjectOption = "default", site: SiteOption = False) -> None:
    """Print names, who set them and when they were used; no values."""
    from app.commands.local_secrets import all_secrets
    from app.commands.tables import secrets_table
    from app.settings import load_settings

    typer.echo(secrets_table(all_secrets(load_settings(), None if site else project)))


@app.command("delete")
def delete_secret(
    name: Name,
    project: ProjectOption = "default",
    site: SiteOption = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a secret. Runs that name it fail at their next start, and say so."""
    from app.commands.local_secrets import delete_value
    from app.settings import load_settings

    if not yes:
        typer.confirm(f"Delete {name}? Its value cannot be brought back.", abort=True)
    delete_value(load_settings(), None if site else project, name)
    typer.echo(f"{name} deleted")


@app.command()
def rotate(
    forget_old: Annotated[
        bool,
        typer.Option(
            "--forget-old", help="Take older keys out of the file, once no secret needs them."
        ),
    ] = False,
) -> None:
    """Add a key and encrypt all secrets with it. May be broken off and repeated at any time.

    Skydeck may run meanwhile. Other machines need the new key file before secrets are used there.
    """
    from app.commands.local_secrets import forget_old_keys, rotate_keys
    from app.settings import load_settings

    settings = load_settings()
    if forget_old:
        gone = forget_old_keys(settings)
        typer.echo(f"forgot {', '.join(gone)}" if gone else "there was no older key")
        return
    done = rotate_keys(settings)
    begun = "went on with key" if done.is_resumed else "new key"
    typer.echo(f"{begun} {done.key_id}: {done.changed_count} secrets encrypted with it")
