"""What the pages about projects are given."""

from dataclasses import dataclass
from datetime import datetime

from app.web.forms import FormField
from app.web.paging import Pager


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A project in one line. `role` is what its reader may do in it."""

    slug: str
    name: str
    role: str
    member_count: int
    run_count: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ProjectsPage:
    """The projects of a person, newest first."""

    rows: list[ProjectRow]
    pager: Pager
    user_name: str
    """What an administrator must type to add the reader."""
    can_create: bool


@dataclass(frozen=True, slots=True)
class NewProjectPage:
    """The form of a new project. `problems` are (field id, message)."""

    fields: list[FormField]
    problems: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member. `role_field` is the control that changes the role."""

    name: str
    role: str
    is_disabled: bool
    is_you: bool
    since: datetime
    role_field: FormField


@dataclass(frozen=True, slots=True)
class ProjectPage:
    """One project. `problem` says why a change was refused; nothing was changed then."""

    project: ProjectRow
    members: list[MemberRow]
    problem: str
    name_field: FormField
    member_fields: list[FormField]
    can_manage: bool
