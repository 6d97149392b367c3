"""`skydeck evaluate`: models on an eval set, over the API."""

import json
import sys
from typing import Annotated, Any

import typer

from app.commands.evaluation import wait_for
from app.commands.target import AsJson, Token, Url, client_of

EMBEDDED = "embedded"
Models = Annotated[
    list[str],
    typer.Option("--model", metavar="MODEL[@ENDPOINT]", help="May be repeated; A, B, … in order."),
]
SetName = Annotated[str, typer.Option("--set", help="Eval set, such as easy-solvable-15.")]


def evaluate(
    context: typer.Context,
    model: Models,
    eval_set: SetName = "easy-solvable-15",
    temperature: Annotated[float, typer.Option(min=0, help="0: the likeliest token.")] = 0.0,
    samples: Annotated[int, typer.Option(min=1, help="Episodes a maze.")] = 1,
    concurrency: Annotated[int, typer.Option(min=1, help="Episodes at a time.")] = 8,
    name: Annotated[str | None, typer.Option(help="Name of the evaluation.")] = None,
    project: Annotated[str | None, typer.Option(help="Project that it goes into.")] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for its end; exit 1 if it is not complete.")
    ] = False,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Play models on an eval set and print the evaluation's id, or with --wait its results.

    A model without @ENDPOINT is one of this machine's own endpoint.
    """
    from app.commands.tables import evaluation_text

    context.obj = (url, token)
    with client_of(context) as client:
        found = client.create_evaluation(
            [_model(each) for each in model],
            eval_set,
            project=project,
            name=name,
            temperature=temperature,
            samples=samples,
            concurrency=concurrency,
        )
        if wait:
            found = wait_for(client, found["id"])
    text = evaluation_text(found) if wait else found["id"]
    sys.stdout.write((json.dumps(found, indent=2) if as_json else text) + "\n")
    raise typer.Exit(1 if wait and found["status"] != "succeeded" else 0)


def _model(text: str) -> dict[str, Any]:
    """`MODEL@ENDPOINT`; an endpoint's id has no `@`, a model's name may have one."""
    name, at, endpoint = text.rpartition("@")
    return {"model": name, "endpoint": endpoint} if at else {"model": text, "endpoint": EMBEDDED}
