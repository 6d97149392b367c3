"""`skydeck run`: launch runs and look after them, over the API."""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.target import EPILOG, AsJson, Token, Url, client_of

if TYPE_CHECKING:
    from app.client import Client

app = typer.Typer(
    help="Launch runs and look after them, over the API of a running Skydeck.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=EPILOG,
)
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run, such as run-7fk2m9qd.")]


@app.callback()
def _target(context: typer.Context, url: Url = None, token: Token = None) -> None:
    """Launch runs and look after them, over the API of a running Skydeck."""
    context.obj = (url, token)


@app.command()
def submit(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE|FILE",
            help="Name of a recipe, or a JSON or TOML file with recipe, config and, if wanted, "
            "name, hypothesis, tags.",
        ),
    ],
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A config value; may be repeated."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the experiment and its run.")] = None,
    project: Annotated[
        str | None, typer.Option(help="Project that it goes into; by default the one you are in.")
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="Cluster to run on.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Print the log until the run ends; exit 1 if it fails.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make an experiment, queue a run of it, and print the run's id."""
    from app.commands.plans import read_plan

    plan = read_plan(source, values or [])
    with client_of(context) as client:
        # Asked first, so that a cluster that is refused leaves no experiment without a run.
        client.validate(plan.recipe, plan.config, cluster=cluster)
        experiment = client.create_experiment(
            name or plan.name,
            plan.recipe,
            plan.config,
            project=project,
            hypothesis=plan.hypothesis,
            tags=[*plan.tags, *(tag or ())],
        )
        tags = experiment["tags"]
        run = client.create_run(experiment["id"], cluster=cluster, name=name, tags=tags)
        if not as_json:
            _say(run["id"])
        if follow:
            run = _follow(client, run["id"], is_quiet=as_json)
    if as_json:
        _say(_text(run))
    if follow and run["status"] != "succeeded":
        raise typer.Exit(1)


@app.command("list")
def list_runs(
    context: typer.Context,
    project: Annotated[str | None, typer.Option(help="Only runs of this project.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most runs to print.")] = 20,
    sort: Annotated[
        str,
        typer.Option(
            help="A column, metric:<key>:<last|best|min|max> or config:<key>; - in front reverses."
        ),
    ] = "-created_at",
    as_json: AsJson = False,
) -> None:
    """Print the newest runs, one a line."""
    from app.commands.tables import runs_table

    with client_of(context) as client:
        page = client.list_runs(project=project, sort=sort, limit=limit)
    _say(_text(page) if as_json else runs_table(page["items"]))


@app.command()
def show(context: typer.Context, run_id: RunId, as_json: AsJson = False) -> None:
    """Print a run's status, progress, attempts and metrics."""
    from app.commands.tables import run_text

    with client_of(context) as client:
        run = client.get_run(run_id)
    _say(_text(run) if as_json else run_text(run))


@app.command()
def compare(
    context: typer.Context,
    run_ids: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...", help="Ids of 2 to 100 runs, the one to compare with first."
        ),
    ],
    metric: Annotated[
        str, typer.Option(help="A metric key; the solve rate where there is one.")
    ] = "",
    at: Annotated[
        str, typer.Option(help="Which evaluation and value stands for a run: last or best.")
    ] = "last",
    group: Annotated[
        str, typer.Option(help="Group by seeds, tag, experiment, config:KEY or none.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Print results of runs, where their configs differ, and what McNemar's test says."""
    from app.commands.comparison import comparison_text

    with client_of(context) as client:
        found = client.compare_runs(run_ids, metric=metric, at=at, group=group)
    _say(_text(found) if as_json else comparison_text(found))


@app.command()
def logs(
    context: typer.Context,
    run_id: RunId,
    attempt: Annotated[
        int | None, typer.Option(min=1, help="Number of the attempt; the newest by default.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on until the run ends; exit 1 if it fails.")
    ] = False,
) -> None:
    """Print the log of a run: the exact bytes, or line by line with --follow."""
    if follow and attempt is not None:
        raise typer.BadParameter("--follow follows the newest attempt: leave --attempt out")
    with client_of(context) as client:
        _explain_no_log(client.get_run(run_id))
        if not follow:
            for chunk in client.iter_log_bytes(run_id, attempt=attempt):
                sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
        elif _follow(client, run_id, is_quiet=False)["status"] != "succeeded":
            raise typer.Exit(1)


@app.command()
def stop(context: typer.Context, run_id: RunId, as_json: AsJson = False) -> None:
    """Ask for a run to be stopped; it saves a checkpoint first."""
    with client_of(context) as client:
        _changed(client.stop_run(run_id), as_json)


@app.command()
def finish(
    context: typer.Context,
    run_id: RunId,
    status: Annotated[
        str, typer.Option(help="How it ended: succeeded, failed, stopped or lost.")
    ] = "succeeded",
    as_json: AsJson = False,
) -> None:
    """Say that a run that is executed outside Skydeck has ended."""
    with client_of(context) as client:
        _changed(client.finish(run_id, status), as_json)


@app.command()
def resume(context: typer.Context, run_id: RunId, as_json: AsJson = False) -> None:
    """Queue another attempt of a failed, stopped or lost run, from its newest checkpoint."""
    with client_of(context) as client:
        _changed(client.resume_run(run_id), as_json)


@app.command()
def promote(
    context: typer.Context,
    run_id: RunId,
    step: Annotated[
        str, typer.Option(help="The step whose adapter it is, or best: that which did best.")
    ] = "best",
    name: Annotated[
        str | None, typer.Option(help="Name of the adapter, used once and for ever.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until it is there; exit 1 if it fails.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Have an adapter that a run has exported served by name; print its model id."""
    from app.commands.adapter import said, wait_for

    if step != "best" and not (step.isascii() and step.isdigit()):
        raise typer.BadParameter("--step takes a whole number, or best")
    with client_of(context) as client:
        checkpoint = client.find_export(run_id, None if step == "best" else int(step))
        promotion = client.promote(checkpoint["id"], name=name)
        if wait:
            promotion = wait_for(client, promotion["id"])
    _say(_text(promotion) if as_json else promotion["model"])
    if promotion["error"]:
        sys.stderr.write(said(promotion) + "\n")
    if promotion["status"] == "failed":
        raise typer.Exit(1)


def _follow(client: "Client", run_id: str, *, is_quiet: bool) -> dict[str, Any]:
    try:
        run = client.follow(run_id, (lambda _line: None) if is_quiet else _say)
    except KeyboardInterrupt:
        sys.stderr.write(f"the run goes on: `skydeck run stop {run_id}` stops it\n")
        raise
    sys.stderr.write(f"{run_id} {run['status']} {run['status_reason']}".rstrip() + "\n")
    return run


def _explain_no_log(run: dict[str, Any]) -> None:
    if run["origin"] == "external":
        sys.stderr.write(f"{run['id']} runs outside Skydeck: its log is there, not here\n")
    elif not run["attempts"]:
        sys.stderr.write(f"{run['id']} is {run['status']}: it has no log yet\n")


def _changed(run: dict[str, Any], as_json: bool) -> None:
    wanted = f", wanted is {run['desired_status']}" if run["desired_status"] == "stop" else ""
    _say(_text(run) if as_json else f"{run['id']} {run['status']}{wanted}")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _text(answer: Any) -> str:
    return json.dumps(answer, indent=2)
