"""`skydeck audit`: the audit log, read from the local database."""

from enum import StrEnum
from typing import Annotated

import typer

app = typer.Typer(
    help="Read the audit log: who changed what, and who was denied.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class FormatName(StrEnum):
    """As `app.audit.export.Format`, without importing the database for `--help`."""

    CSV = "csv"
    JSONL = "jsonl"


ActorOption = Annotated[str, typer.Option("--actor", help="A name, or a person's or token's key.")]
ActionOption = Annotated[str, typer.Option("--action", help="Such as run.stop; see docs/audit.md.")]
ObjectOption = Annotated[str, typer.Option("--object", help="Such as a run's id.")]
OutcomeOption = Annotated[str, typer.Option("--outcome", help="done or denied.")]
ProjectOption = Annotated[str, typer.Option("--project", help="Only of this project.")]
SinceOption = Annotated[str, typer.Option("--from", help="From this time on, in UTC.")]
UntilOption = Annotated[str, typer.Option("--to", help="Before this time, in UTC.")]


@app.callback()
def _group() -> None:
    """Read the audit log: who changed what, and who was denied."""


@app.command("list")
def list_entries(
    actor: ActorOption = "",
    action: ActionOption = "",
    object_slug: ObjectOption = "",
    outcome: OutcomeOption = "",
    project: ProjectOption = "",
    since: SinceOption = "",
    until: UntilOption = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Most rows.")] = 50,
) -> None:
    """Print rows, newest first, one a line."""
    from app.audit.asked import Asked
    from app.commands.local_audit import newest
    from app.commands.tables import audit_table
    from app.settings import load_settings

    asked = Asked(actor, action, object_slug, outcome, project, since, until)
    typer.echo(audit_table(newest(load_settings().url, asked, limit=limit)))


@app.command()
def export(
    kind: Annotated[FormatName, typer.Option("--format", help="csv, or jsonl: one object a line.")],
    actor: ActorOption = "",
    action: ActionOption = "",
    object_slug: ObjectOption = "",
    outcome: OutcomeOption = "",
    project: ProjectOption = "",
    since: SinceOption = "",
    until: UntilOption = "",
) -> None:
    """Write all rows that fit to stdout, with all fields and exact times."""
    from app.audit.asked import Asked
    from app.commands.local_audit import write_all
    from app.settings import load_settings

    asked = Asked(actor, action, object_slug, outcome, project, since, until)
    write_all(load_settings().url, asked, kind)
