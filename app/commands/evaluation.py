"""`skydeck evaluation`: look after evaluations, over the API; `skydeck evaluate` makes one."""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.progress import Progress, evaluation_line
from app.commands.target import EPILOG, AsJson, Token, Url, client_of

if TYPE_CHECKING:
    from app.client import Client

app = typer.Typer(
    help="Evaluations of models, over the API of a running Skydeck.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=EPILOG,
)
EvaluationId = Annotated[
    str, typer.Argument(metavar="EVALUATION", help="Id of the evaluation, such as evl-7fk2m9qd.")
]


@app.callback()
def _target(context: typer.Context, url: Url = None, token: Token = None) -> None:
    """Evaluations of models, over the API of a running Skydeck."""
    context.obj = (url, token)


@app.command("list")
def list_evaluations(
    context: typer.Context,
    project: Annotated[str | None, typer.Option(help="Only those of this project.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most evaluations to print.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Print the newest evaluations, one a line."""
    from app.commands.tables import evaluations_table

    with client_of(context) as client:
        page = client.list_evaluations(project=project, limit=limit)
    _say(_text(page) if as_json else evaluations_table(page["items"]))


@app.command()
def show(context: typer.Context, evaluation_id: EvaluationId, as_json: AsJson = False) -> None:
    """Print how far an evaluation is, and what each model has solved so far."""
    from app.commands.tables import evaluation_text

    with client_of(context) as client:
        found = client.get_evaluation(evaluation_id)
    _say(_text(found) if as_json else f"{evaluation_text(found)}\n{evaluation_line(found)}")


@app.command()
def stop(context: typer.Context, evaluation_id: EvaluationId, as_json: AsJson = False) -> None:
    """Ask for an evaluation to be stopped; what was played is kept."""
    with client_of(context) as client:
        _changed(client.stop_evaluation(evaluation_id), as_json)


@app.command()
def resume(context: typer.Context, evaluation_id: EvaluationId, as_json: AsJson = False) -> None:
    """Play what is missing of an evaluation that failed or was stopped."""
    with client_of(context) as client:
        _changed(client.resume_evaluation(evaluation_id), as_json)


def wait_for(client: "Client", evaluation_id: str) -> dict[str, Any]:
    """The evaluation once it has ended; how far it is, is said on stderr."""
    goes_on = f"the evaluation goes on: `skydeck evaluation stop {evaluation_id}` stops it"
    with Progress(goes_on=goes_on) as progress:
        return client.wait_for_evaluation(
            evaluation_id, tell=lambda found: progress.tell(evaluation_line(found))
        )


def _changed(found: dict[str, Any], as_json: bool) -> None:
    _say(_text(found) if as_json else evaluation_line(found))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _text(answer: Any) -> str:
    return json.dumps(answer, indent=2)
