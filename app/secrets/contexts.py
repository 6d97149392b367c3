"""What the pages about secrets are given. Never a value, not even one that was refused."""

from dataclasses import dataclass
from datetime import datetime

from app.web.forms import FormField


@dataclass(frozen=True, slots=True)
class SecretPlace:
    """Whose secrets they are. `url`: of the list; `parent_url` and `parent` lead further up."""

    title: str
    url: str
    parent: str
    parent_url: str
    is_site: bool


@dataclass(frozen=True, slots=True)
class SecretRow:
    """One line of the list. `config_count` None: of the site, which no config can name."""

    name: str
    created_by: str
    changed_at: datetime
    last_used_at: datetime | None
    config_count: int | None


@dataclass(frozen=True, slots=True)
class SecretsPage:
    """The list, and a form for a new one where the reader may set some."""

    place: SecretPlace
    rows: list[SecretRow]
    can_manage: bool
    name_field: FormField
    value_field: FormField


@dataclass(frozen=True, slots=True)
class SecretPage:
    """One secret, to be replaced or deleted."""

    place: SecretPlace
    row: SecretRow
    value_field: FormField
