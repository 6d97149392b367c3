"""JSON shapes of projects and their members."""

from datetime import datetime

from pydantic import Field

from app.access.principal import Principal
from app.api.schemas import Answer, Body, Line
from app.models import Project, Role
from app.projects.service import Member


class ProjectBody(Body):
    """`id` is the short name in addresses; left out, it is made from the name."""

    name: Line = Field(examples=["Vision"])
    id: Line | None = Field(default=None, examples=["vision"])


class ProjectChange(Body):
    """The id stays, so that addresses stay."""

    name: Line = Field(examples=["Vision and mazes"])


class ProjectAnswer(Answer):
    id: str = Field(examples=["vision"])
    name: str
    created_at: datetime
    role: Role | None = Field(description="What you may do in it")
    member_count: int
    run_count: int

    @classmethod
    def of(cls, project: Project, caller: Principal, counts: tuple[int, int]) -> "ProjectAnswer":
        """`counts` are its members and its runs."""
        return cls(
            id=project.slug,
            name=project.name,
            created_at=project.created_at,
            role=caller.role_in(project.id),
            member_count=counts[0],
            run_count=counts[1],
        )


class MemberBody(Body):
    role: Role = Field(examples=["member"])


class MemberAnswer(Answer):
    """`is_disabled`: this person cannot sign in at all, whatever the role."""

    name: str = Field(examples=["ada"])
    role: Role
    is_disabled: bool
    since: datetime

    @classmethod
    def of(cls, member: Member) -> "MemberAnswer":
        return cls.model_validate(member)
