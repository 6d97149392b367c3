"""Builds what the pages about projects show. Reads no database."""

from collections.abc import Mapping

from app.access.permissions import Permission
from app.models import Project, Role
from app.projects.contexts import MemberRow, NewProjectPage, ProjectPage, ProjectRow
from app.projects.service import Member
from app.web.deps import Viewer
from app.web.forms import FormField, group_problems

_ROLES = [role.value for role in Role]
_ROLE_WORDS = {role.value: role.value.capitalize() for role in Role}
_ROLE_HELP = "A viewer looks, a member launches and stops, an administrator adds people, too."


def project_row(project: Project, viewer: Viewer, counts: tuple[int, int]) -> ProjectRow:
    """`counts` are its members and its runs."""
    role = viewer.principal.role_in(project.id)
    return ProjectRow(
        slug=project.slug,
        name=project.name,
        role=role.value.capitalize() if role else "",
        member_count=counts[0],
        run_count=counts[1],
        created_at=project.created_at,
    )


def project_page(
    project: Project,
    viewer: Viewer,
    counts: tuple[int, int],
    members: list[Member],
    *,
    typed: Mapping[str, str],
    problems: Mapping[str, str],
) -> ProjectPage:
    """`typed` and `problems` by field: `project_name`, `name`, `role`; `""` is of the page."""
    return ProjectPage(
        project=project_row(project, viewer, counts),
        members=[_member(row, viewer) for row in members],
        problem=problems.get("", ""),
        name_field=FormField(
            name="project_name",
            label="Name",
            kind="text",
            value=typed.get("project_name", project.name),
            help="Addresses keep the short name.",
            problem=problems.get("project_name", ""),
        ),
        member_fields=[
            FormField(
                name="name",
                label="User name",
                kind="text",
                value=typed.get("name", ""),
                help="Exactly as they sign in. Who has no account yet needs an invite first.",
                problem=problems.get("name", ""),
            ),
            _role_field(typed.get("role", Role.MEMBER.value), help_text=_ROLE_HELP),
        ],
        can_manage=viewer.may(Permission.MANAGE, project.id),
    )


def new_project_page(typed: Mapping[str, str], problems: Mapping[str, str]) -> NewProjectPage:
    fields = [
        FormField(
            name="name",
            label="Name",
            kind="text",
            value=typed.get("name", ""),
            help="What people call it, such as “Vision”.",
            problem=problems.get("name", ""),
        ),
        FormField(
            name="slug",
            label="Short name",
            kind="text",
            value=typed.get("slug", ""),
            help="For addresses; it stays. Left empty, it is made from the name.",
            problem=problems.get("slug", ""),
            placeholder="vision",
        ),
    ]
    return NewProjectPage(fields, group_problems(problems, fields))


def _member(member: Member, viewer: Viewer) -> MemberRow:
    return MemberRow(
        name=member.name,
        role=member.role.value.capitalize(),
        is_disabled=member.is_disabled,
        is_you=member.name == viewer.name,
        since=member.since,
        role_field=_role_field(member.role.value),
    )


def _role_field(value: str, *, help_text: str = "") -> FormField:
    return FormField(
        name="role",
        label="Role",
        kind="choice",
        value=value,
        help=help_text,
        choices=_ROLES,
        labels=_ROLE_WORDS,
    )
