"""Which Skydeck a command talks to: options that all commands over the API share."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from app.client import Client

EPILOG = (
    "SKYDECK_URL and SKYDECK_TOKEN say which Skydeck to talk to; by default the one on "
    "this machine, with a token of its own."
)
Url = Annotated[str | None, typer.Option(envvar="SKYDECK_URL", help="Address of the service.")]
Token = Annotated[str | None, typer.Option(envvar="SKYDECK_TOKEN", help="Token of the service.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the API's answer as JSON.")]


def client_of(context: typer.Context) -> "Client":
    """The client for the address and the token that the command's callback stored."""
    from app.commands.connection import connect

    url, token = context.obj
    return connect(url, token)
