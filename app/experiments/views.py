"""Turns experiments and their versions into what the pages show. No database."""

from collections.abc import Sequence
from difflib import unified_diff

from app.access.permissions import Permission
from app.access.service import Membership
from app.errors import Invalid
from app.experiments.contexts import ChangeRow, ExperimentHead, ExperimentRow, Link, VersionRow
from app.models import Config, Experiment
from app.recipes.diff import Change
from app.web.deps import Viewer
from app.web.filters import sentence
from app.web.forms import FormField, as_text

TABS = (("Runs", ""), ("Versions", "/versions"), ("Sweeps", "/sweeps"))
_SHOWN_CHANGES = 4
_MOST_LINES = 2_000


def experiment_row(experiment: Experiment, config: Config | None, run_count: int) -> ExperimentRow:
    return ExperimentRow(
        slug=experiment.slug,
        name=experiment.name,
        project_slug=experiment.project.slug,
        project_name=experiment.project.name,
        recipe=config.recipe if config else "",
        version=config.version if config else None,
        run_count=run_count,
        tags=experiment.tags,
        owner=experiment.owner,
        created_at=experiment.created_at,
    )


def experiment_head(
    experiment: Experiment, config: Config | None, run_count: int, viewer: Viewer, *, tab: str = ""
) -> ExperimentHead:
    """`tab` is the title of the tab that is open, or empty."""
    can_write = viewer.may(Permission.WRITE, experiment.project_id)
    url = f"/experiments/{experiment.slug}"
    return ExperimentHead(
        experiment=experiment_row(experiment, config, run_count),
        archived_at=experiment.archived_at,
        origin=_origin(experiment, viewer),
        is_fork=experiment.forked_from_id is not None,
        can_write=can_write,
        can_launch=can_write and config is not None and experiment.archived_at is None,
        tabs=[Link(title, url + path, is_current=title == tab) for title, path in TABS],
    )


def fork_links(forks: Sequence[Experiment]) -> list[Link]:
    return [
        Link(f"{each.name} (from v{each.forked_version})", f"/experiments/{each.slug}")
        for each in forks
    ]


def version_row(
    experiment: Experiment,
    config: Config,
    changes: Sequence[Change],
    run_count: int,
    *,
    most: int = _SHOWN_CHANGES,
) -> VersionRow:
    """At most `most` changes are named."""
    assert config.version is not None
    url = f"/experiments/{experiment.slug}"
    before = config.version - 1
    return VersionRow(
        number=config.version,
        url=f"{url}/versions/{config.version}",
        edit_url=f"/runs/new?from={experiment.slug}&version={config.version}",
        fork_url=f"{url}/fork?version={config.version}",
        diff_url=f"{url}/diff?from={before}&to={config.version}" if before else "",
        changes=change_rows(changes[:most]),
        more_count=max(0, len(changes) - most),
        run_count=run_count,
        digest=config.digest,
        created_by=config.created_by,
        created_at=config.created_at,
    )


def change_rows(changes: Sequence[Change]) -> list[ChangeRow]:
    return [
        ChangeRow(
            each.key,
            None if each.is_new else _shown(each.before),
            None if each.is_gone else _shown(each.after),
        )
        for each in changes
    ]


def differing_lines(before: str | None, after: str | None) -> list[str]:
    """As `diff -u` shows them; nothing for texts so long that a comparison could take seconds."""
    one, other = ((text or "").splitlines() for text in (before, after))
    if len(one) + len(other) > _MOST_LINES:
        return []
    return list(unified_diff(one, other, lineterm=""))[2:]


def edit_fields(name: str, hypothesis: str, tags: str, problems: dict[str, str]) -> list[FormField]:
    return [
        FormField("name", "Name", "text", name, problem=problems.get("name", "")),
        FormField(
            "hypothesis",
            "Hypothesis",
            "prose",
            hypothesis,
            help="Markdown. What you expect, and what would prove you wrong.",
            problem=problems.get("hypothesis", ""),
        ),
        FormField(
            "tags",
            "Tags",
            "text",
            tags,
            help="Separated by commas.",
            problem=problems.get("tags", ""),
        ),
    ]


def fork_fields(
    version: str,
    name: str,
    project: str,
    projects: Sequence[Membership],
    problems: dict[str, str],
) -> list[FormField]:
    """Projects are asked for only where there is a choice."""
    fields = [
        FormField("name", "Name", "text", name, problem=problems.get("name", "")),
        FormField(
            "version",
            "Version",
            "number",
            version,
            help="The config that it starts with.",
            problem=problems.get("version", ""),
        ),
    ]
    if len(projects) > 1 or "project" in problems:
        fields.append(
            FormField(
                "project",
                "Project",
                "choice",
                project,
                help="Its members see the fork.",
                choices=[each.slug for each in projects],
                labels={each.slug: each.name for each in projects},
                problem=problems.get("project", ""),
            )
        )
    return fields


def split_tags(text: str) -> list[str]:
    return [tag.strip() for tag in text.split(",") if tag.strip()]


def problems_of(error: Invalid) -> dict[str, str]:
    found = {each.field.partition(".")[0]: sentence(each.message) for each in error.problems}
    return found or {"": sentence(error.message)}


def _origin(experiment: Experiment, viewer: Viewer) -> Link | None:
    origin, version = experiment.forked_from, experiment.forked_version
    if origin is None or not viewer.may(Permission.READ, origin.project_id):
        return None
    return Link(
        f"{origin.name}, version {version}", f"/experiments/{origin.slug}/versions/{version}"
    )


def _shown(value: object) -> str:
    text = as_text(value)
    return text if text else "empty" if value is not None else "none"
