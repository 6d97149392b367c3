"""`skydeck endpoint`: served models, through the local database."""

from typing import Annotated

import typer

app = typer.Typer(
    help="List, register, check and remove endpoints: servers of models.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Id = Annotated[str, typer.Argument(metavar="ENDPOINT", help="Its id, such as end-4hd8k2mz.")]


@app.callback()
def _group() -> None:
    """List, register, check and remove endpoints: servers of models."""


@app.command("list")
def list_endpoints() -> None:
    """Print all endpoints, one a line, as the worker last saw them."""
    from app.commands.local_endpoints import all_endpoints
    from app.commands.tables import endpoints_table
    from app.settings import load_settings

    typer.echo(endpoints_table(all_endpoints(load_settings())))


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="What people choose it by.")],
    base_url: Annotated[
        str, typer.Argument(metavar="URL", help="Such as https://llm.example.com/v1.")
    ],
    key: Annotated[
        bool, typer.Option("--key", help="It wants a key, which is asked for or read from stdin.")
    ] = False,
) -> None:
    """Register an OpenAI-compatible server and print its id, alone, on stdout."""
    from app.commands.local_endpoints import register
    from app.commands.local_secrets import read_value
    from app.settings import load_settings

    value = read_value("its key") if key else ""
    typer.echo(register(load_settings(), name=name, base_url=base_url, key=value))


@app.command()
def check(
    endpoint: Id,
    wait: Annotated[
        float, typer.Option(min=0, help="Seconds to wait for a worker to look at it.")
    ] = 20.0,
) -> None:
    """Have a worker look at it now, and print its state and models. Exit status 1: not ready."""
    from app.commands.local_endpoints import look
    from app.commands.tables import models_table
    from app.settings import load_settings

    seen = look(load_settings(), endpoint, seconds=wait)
    typer.echo(f"{seen.slug} {seen.status}{': ' + seen.message if seen.message else ''}")
    if seen.models:
        typer.echo(models_table(seen.models))
    if not seen.is_ready:
        raise typer.Exit(1)


@app.command()
def remove(
    endpoint: Id, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
) -> None:
    """Remove an endpoint and its key. What was played on it is kept."""
    from app.commands.local_endpoints import take_away
    from app.settings import load_settings

    if not yes:
        typer.confirm(f"Remove {endpoint}? Its key cannot be brought back.", abort=True)
    take_away(load_settings(), endpoint)
    typer.echo(f"{endpoint} removed")
