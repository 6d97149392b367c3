"""`skydeck adapter`: what was promoted from runs, over the API."""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.progress import Progress, promotion_line
from app.commands.target import EPILOG, AsJson, Token, Url, client_of

if TYPE_CHECKING:
    from app.client import Client

app = typer.Typer(
    help="Adapters that were promoted from runs, over the API of a running Skydeck.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=EPILOG,
)


@app.callback()
def _target(context: typer.Context, url: Url = None, token: Token = None) -> None:
    """Adapters that were promoted from runs, over the API of a running Skydeck."""
    context.obj = (url, token)


@app.command("list")
def list_adapters(
    context: typer.Context,
    project: Annotated[str | None, typer.Option(help="Only adapters of this project.")] = None,
    run: Annotated[str | None, typer.Option(help="Only adapters of this run.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most adapters to print.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Print the newest adapters, one a line, with the ids they are served under."""
    from app.commands.tables import adapters_table

    with client_of(context) as client:
        page = client.list_adapters(project=project, run=run, limit=limit)
    text = json.dumps(page, indent=2) if as_json else adapters_table(page["items"])
    sys.stdout.write(text + "\n")


def wait_for(client: "Client", promotion_id: str) -> dict[str, Any]:
    """The promotion once it has ended; how far it is, is said on stderr."""
    goes_on = "the promotion goes on: its page and `skydeck adapter list` show it"
    with Progress(goes_on=goes_on) as progress:
        return client.wait_promotion(
            promotion_id, tell=lambda found: progress.tell(promotion_line(found))
        )


def said(promotion: dict[str, Any]) -> str:
    """Why a promotion failed, and what to do, in a line."""
    error = promotion["error"]
    return f"{promotion['id']} {promotion['status']}: {error['message']}: {error['hint']}"
