"""Builds the pages about secrets."""

from collections.abc import Mapping, Sequence

from app.models import Project
from app.secrets.contexts import SecretPage, SecretPlace, SecretRow, SecretsPage
from app.secrets.service import Listed
from app.web.forms import FormField

SITE_URL = "/settings/secrets"
_VALUE_HELP = (
    "At least 8 characters; several lines are fine. It is encrypted at once and never shown again."
)


def place_of(project: Project | None) -> SecretPlace:
    """`None`: the site's."""
    if project is None:
        return SecretPlace("Secrets of the site", SITE_URL, "Settings", "/settings", is_site=True)
    url = f"/projects/{project.slug}"
    return SecretPlace("Secrets", f"{url}/secrets", project.name, url, is_site=False)


def secrets_page(
    place: SecretPlace,
    found: Sequence[Listed],
    *,
    can_manage: bool,
    name: str = "",
    problems: Mapping[str, str] | None = None,
) -> SecretsPage:
    """`name` as typed. What was typed as a value is never given back."""
    said = problems or {}
    return SecretsPage(
        place=place,
        rows=[_row(each) for each in found],
        can_manage=can_manage,
        name_field=FormField(
            "name",
            "Name",
            "text",
            name,
            help="Capital letters, digits and _: the environment variable that a job finds it in.",
            problem=said.get("name", said.get("", "")),
            placeholder="HF_TOKEN",
        ),
        value_field=_value_field(said.get("value", "")),
    )


def secret_page(place: SecretPlace, listed: Listed, *, problem: str = "") -> SecretPage:
    return SecretPage(place, _row(listed), _value_field(problem))


def _value_field(problem: str) -> FormField:
    return FormField("value", "Value", "text", "", help=_VALUE_HELP, problem=problem)


def _row(listed: Listed) -> SecretRow:
    return SecretRow(
        name=listed.name,
        created_by=listed.created_by,
        changed_at=listed.changed_at,
        last_used_at=listed.last_used_at,
        config_count=listed.config_count,
    )
