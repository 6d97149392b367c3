"""`skydeck sweep`: many runs of one experiment, over the API."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from app.commands.target import EPILOG, AsJson, Token, Url, client_of
from app.errors import SkydeckError

app = typer.Typer(
    help="Many runs of one experiment, over the API of a running Skydeck.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=EPILOG,
)
ExperimentId = Annotated[
    str, typer.Argument(metavar="EXPERIMENT", help="Id of the experiment, such as exp-3kq9x2vd.")
]
SweepId = Annotated[str, typer.Argument(metavar="SWEEP", help="Id, such as swp-7fk2m9qd.")]
Axes = Annotated[
    list[str] | None,
    typer.Option("--grid", metavar="KEY=V1,V2", help="Values of a key; may be repeated."),
]
SpaceFile = Annotated[
    Path | None,
    typer.Option("--space", help="JSON file with a space: kind grid, random or explicit."),
]
Version = Annotated[
    int | None, typer.Option(min=1, help="Version that is varied; by default the newest.")
]
Cluster = Annotated[
    str | None, typer.Option(help="Cluster that all runs go to; by default the embedded one.")
]
Exclude = Annotated[
    list[int] | None, typer.Option(help="Number of a config to leave out; may be repeated.")
]


@app.callback()
def _target(context: typer.Context, url: Url = None, token: Token = None) -> None:
    """Many runs of one experiment, over the API of a running Skydeck."""
    context.obj = (url, token)


@app.command()
def preview(
    context: typer.Context,
    experiment_id: ExperimentId,
    grid: Axes = None,
    space: SpaceFile = None,
    version: Version = None,
    exclude: Exclude = None,
    cluster: Cluster = None,
    as_json: AsJson = False,
) -> None:
    """Print each config of a sweep with its GPUs and errors. Exit 1 if it could not be made so."""
    from app.commands.tables import plan_text

    wanted = _space(grid or (), space)
    with client_of(context) as client:
        seen = client.preview_sweep(
            experiment_id, wanted, version=version, exclude=exclude or (), cluster=cluster
        )
    _say(_text(seen) if as_json else plan_text(seen))
    raise typer.Exit(0 if seen["ok"] else 1)


@app.command()
def create(
    context: typer.Context,
    experiment_id: ExperimentId,
    grid: Axes = None,
    space: SpaceFile = None,
    version: Version = None,
    exclude: Exclude = None,
    name: Annotated[str | None, typer.Option(help="Name of the sweep.")] = None,
    max_running: Annotated[int, typer.Option(min=1, help="Runs under way at a time.")] = 4,
    cluster: Cluster = None,
    as_json: AsJson = False,
) -> None:
    """Make a sweep, queue a run for each config, and print the sweep's id."""
    from app.commands.tables import few_drawn

    wanted = _space(grid or (), space)
    with client_of(context) as client:
        made = client.create_sweep(
            experiment_id,
            wanted,
            version=version,
            exclude=exclude or (),
            name=name,
            max_running_runs=max_running,
            cluster=cluster,
        )
    _say(_text(made) if as_json else made["id"])
    if few := few_drawn(wanted.get("count", 0), made["run_count"] + len(set(exclude or ()))):
        sys.stderr.write(few + "\n")


@app.command("list")
def list_sweeps(
    context: typer.Context,
    experiment: Annotated[str | None, typer.Option(help="Only those of this experiment.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most sweeps to print.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Print the newest sweeps, one a line."""
    from app.commands.tables import sweeps_table

    with client_of(context) as client:
        page = client.list_sweeps(experiment=experiment, limit=limit)
    _say(_text(page) if as_json else sweeps_table(page["items"]))


@app.command()
def show(context: typer.Context, sweep_id: SweepId, as_json: AsJson = False) -> None:
    """Print the runs of a sweep: status and best solve rate beside what differs."""
    with client_of(context) as client:
        _print(client.get_sweep(sweep_id), as_json)


@app.command()
def stop(context: typer.Context, sweep_id: SweepId, as_json: AsJson = False) -> None:
    """Ask for all runs of a sweep to be stopped."""
    with client_of(context) as client:
        _print(client.stop_sweep(sweep_id), as_json)


@app.command()
def resume(context: typer.Context, sweep_id: SweepId, as_json: AsJson = False) -> None:
    """Queue again all runs of a sweep that failed, were stopped or lost."""
    with client_of(context) as client:
        _print(client.resume_sweep(sweep_id), as_json)


def _space(axes: Sequence[str], file: Path | None) -> dict[str, Any]:
    if bool(axes) == (file is not None):
        raise typer.BadParameter("give either --grid, once for each key, or --space")
    if file is None:
        return {"kind": "grid", "keys": _axes(axes)}
    try:
        found = json.loads(file.read_text())
    except OSError as error:
        raise SkydeckError(f"{file} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise SkydeckError(f"{file} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise SkydeckError(f"{file} holds no object")
    return found


def _axes(texts: Sequence[str]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for text in texts:
        key, values = _axis(text)
        if key in found:
            raise SkydeckError(
                f"--grid {key} is given twice: put all its values behind one of them"
            )
        found[key] = values
    return found


def _axis(text: str) -> tuple[str, list[Any]]:
    key, equals, values = text.partition("=")
    if not equals or not key.strip():
        raise SkydeckError(f"--grid {text}: give KEY=V1,V2")
    try:
        # A list of JSON values, such as [1, 2],[3] or "a,b","c".
        return key.strip(), list(json.loads(f"[{values}]"))
    except ValueError:
        return key.strip(), [_plain(part.strip()) for part in values.split(",")]


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _print(sweep: dict[str, Any], as_json: bool) -> None:
    from app.commands.tables import sweep_text

    _say(_text(sweep) if as_json else sweep_text(sweep))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _text(answer: Any) -> str:
    return json.dumps(answer, indent=2)
