"""`skydeck experiment`: experiments and their config versions, over the API."""

import json
import sys
from typing import Annotated, Any

import typer

from app.commands.target import EPILOG, AsJson, Token, Url, client_of

app = typer.Typer(
    help="Experiments and their config versions, over the API of a running Skydeck.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=EPILOG,
)
ExperimentId = Annotated[
    str, typer.Argument(metavar="EXPERIMENT", help="Id of the experiment, such as exp-3kq9x2vd.")
]


@app.callback()
def _target(context: typer.Context, url: Url = None, token: Token = None) -> None:
    """Experiments and their config versions, over the API of a running Skydeck."""
    context.obj = (url, token)


@app.command("list")
def list_experiments(
    context: typer.Context,
    query: Annotated[str, typer.Option(help="Words in name, id or hypothesis.")] = "",
    tag: Annotated[str, typer.Option(help="Only those with this tag.")] = "",
    archived: Annotated[bool, typer.Option("--archived", help="The archived ones.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most experiments to print.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Print the newest experiments, one a line."""
    from app.commands.tables import experiments_table

    with client_of(context) as client:
        page = client.list_experiments(q=query, tag=tag, archived=archived, limit=limit)
    _say(_text(page) if as_json else experiments_table(page["items"]))


@app.command()
def show(context: typer.Context, experiment_id: ExperimentId, as_json: AsJson = False) -> None:
    """Print an experiment and its newest versions with what each changed."""
    from app.commands.tables import experiment_text

    with client_of(context) as client:
        found = client.get_experiment(experiment_id)
        versions = client.list_versions(experiment_id, limit=20)["items"]
    as_one = found | {"versions": versions}
    _say(_text(as_one) if as_json else experiment_text(found, versions))


@app.command()
def save(
    context: typer.Context,
    experiment_id: ExperimentId,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A YAML file of the config, whose comments are kept, or a JSON or TOML file with "
            "recipe and config.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Make the next config version and print its number."""
    from app.commands.plans import read_plan, read_yaml

    config, yaml = None, read_yaml(file)
    if yaml is None:
        config = read_plan(file, []).config
    with client_of(context) as client:
        made = client.create_version(experiment_id, config, yaml=yaml)
    _say(_text(made) if as_json else str(made["version"]))


@app.command("config")
def show_config(
    context: typer.Context,
    experiment_id: ExperimentId,
    version: Annotated[
        int | None, typer.Argument(metavar="[VERSION]", min=1, help="By default the newest.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print a version's config as it was typed.

    With its comments; all values as YAML where it was not typed as a text. What is printed can be
    changed and given to `skydeck experiment save`.
    """
    with client_of(context) as client:
        number = version or client.get_experiment(experiment_id)["version"] or 1
        found = client.get_version(experiment_id, number)
    if as_json:
        _say(_text(found))
        return
    # JSON is YAML; one value a line can be read and changed.
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found["config"].items()]
    sys.stdout.write(found["yaml"] or "\n".join([f"recipe: {found['recipe']}", *lines]) + "\n")


@app.command()
def diff(
    context: typer.Context,
    experiment_id: ExperimentId,
    before: Annotated[
        int | None, typer.Argument(metavar="[FROM]", min=1, help="By default the last but one.")
    ] = None,
    after: Annotated[
        int | None, typer.Argument(metavar="[TO]", min=1, help="By default the newest version.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print where two versions differ."""
    from app.commands.tables import change_line

    with client_of(context) as client:
        newest = client.get_experiment(experiment_id)["version"] or 1
        later = after or newest
        items = client.diff_versions(experiment_id, before or max(1, later - 1), later)
    _say(_text(items) if as_json else "\n".join(change_line(each) for each in items))


@app.command()
def fork(
    context: typer.Context,
    experiment_id: ExperimentId,
    version: Annotated[
        int | None, typer.Option(min=1, help="Version to start with; by default the newest.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the fork.")] = None,
    project: Annotated[str | None, typer.Option(help="Project that it goes into.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make an experiment that starts with a version of another, and print its id."""
    with client_of(context) as client:
        made = client.fork_experiment(experiment_id, version=version, name=name, project=project)
    _say(_text(made) if as_json else made["id"])


@app.command()
def archive(context: typer.Context, experiment_id: ExperimentId, as_json: AsJson = False) -> None:
    """Take an experiment off the lists; it takes no new versions and runs."""
    with client_of(context) as client:
        found = client.archive_experiment(experiment_id)
    _say(_text(found) if as_json else f"{found['id']} archived")


@app.command()
def restore(context: typer.Context, experiment_id: ExperimentId, as_json: AsJson = False) -> None:
    """Bring an archived experiment back."""
    with client_of(context) as client:
        found = client.restore_experiment(experiment_id)
    _say(_text(found) if as_json else f"{found['id']} restored")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _text(answer: Any) -> str:
    return json.dumps(answer, indent=2)
