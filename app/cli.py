"""The `skydeck` command. Errors are one line on stderr; see `app/commands/` for the rest."""

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands import (
    adapter,
    audit,
    cluster,
    code,
    config,
    endpoint,
    evaluate,
    evaluation,
    experiment,
    project,
    run,
    secret,
    sweep,
    token,
    user,
)
from app.errors import SkydeckError
from app.observability.masking import masked

if TYPE_CHECKING:
    from app.settings import Settings

app = typer.Typer(
    name="skydeck",
    help="Launch, watch and compare RL training runs on Ray.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Settings: SKYDECK_HOME, SKYDECK_HOST, SKYDECK_PORT, SKYDECK_DATABASE_URL and others, "
    "from the environment or from settings.env in the home folder.",
)
app.add_typer(token.app, name="token")
app.add_typer(user.app, name="user")
app.add_typer(project.app, name="project")
app.add_typer(experiment.app, name="experiment")
app.add_typer(run.app, name="run")
app.add_typer(adapter.app, name="adapter")
app.add_typer(evaluation.app, name="evaluation")
app.add_typer(sweep.app, name="sweep")
app.add_typer(cluster.app, name="cluster")
app.add_typer(endpoint.app, name="endpoint")
app.add_typer(secret.app, name="secret")
app.add_typer(config.app, name="config")
app.add_typer(code.app, name="code")
app.add_typer(audit.app, name="audit")

Port = Annotated[
    int | None,
    typer.Option(min=0, max=65535, help="Port of the web server; 0 takes a free one."),
]
_INTERRUPTED = 130


def main() -> None:
    """Entry point. Exit status 1: an error, said in one line; 2: wrong usage."""
    try:
        app()
    except SkydeckError as error:
        _fail(error.operator_message)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away; flushing again at exit would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        _fail(masked(f"unexpected {type(error).__name__}: {error}"))


app.command()(evaluate.evaluate)


@app.command()
def up(port: Port = None) -> None:
    """Start everything on this machine: web, worker and an embedded Ray cluster.

    Prints `ready URL` once pages answer, and the first administrator's sign-in link on stderr.
    Ctrl-C ends all of it.
    """
    from app import up as everything

    everything.run(_settings(port))


@app.command()
def web(port: Port = None) -> None:
    """Serve pages and API, on a database that is up to date already."""
    from app.commands.database import require_database, require_secret_keys
    from app.up.checks import write_privately
    from app.up.serve import serve

    settings = _settings(port)
    write_privately()
    require_database(settings.url)
    require_secret_keys(settings)
    serve(settings)


@app.command()
def worker() -> None:
    """Run the control loops that submit runs and follow them. Any number may run."""
    from app.settings import ROOT, load_settings
    from app.up.checks import write_privately
    from app.up.supervisor import child_environment

    # Read here, from where the person stands: relative paths would mean others after the chdir.
    environment = child_environment(load_settings())
    write_privately()
    os.chdir(ROOT)
    command = [sys.executable, "-m", "worker"]
    os.execve(sys.executable, command, environment)  # noqa: S606 - a list, no shell


@app.command()
def migrate() -> None:
    """Bring the database's tables up to date. Prints the revision they are at."""
    from app.schema import migrate_now
    from app.settings import load_settings
    from app.up.checks import make_home, write_privately

    settings = load_settings()
    make_home(settings.home)
    write_privately()
    typer.echo(migrate_now(settings.url))


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> None:
    """Check this installation: settings, disk, database, web, worker, Ray. Exit 1 on a failure."""
    from app.commands import doctor as checkup

    checks = checkup.examine()
    typer.echo(checkup.as_json(checks) if as_json else checkup.as_text(checks))
    raise typer.Exit(0 if all(check.ok for check in checks) else 1)


def _settings(port: int | None) -> "Settings":
    from app.settings import load_settings

    return load_settings() if port is None else load_settings(port=port)


def _fail(message: str) -> None:
    line = " ".join(message.split())
    sys.stderr.write(f"skydeck: {line}\n")
    sys.exit(1)


if __name__ == "__main__":
    main()
