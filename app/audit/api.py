"""JSON API of the audit log."""

from typing import Annotated

from fastapi import Query
from pydantic import AfterValidator, AwareDatetime

from app.access.permissions import Permission
from app.api.deps import DEFAULT_LIMIT, IdCursor, Limit, ProjectManager, Reading
from app.api.schemas import Line, Listing
from app.audit import service
from app.audit.actions import Action
from app.audit.schemas import AuditAnswer
from app.audit.times import in_range
from app.models import AuditOutcome
from app.projects import service as projects
from app.routing import Router

router = Router(tags=["administration"])

Time = Annotated[AwareDatetime, AfterValidator(in_range)]


@router.get("/audit")
async def list_audit(
    caller: ProjectManager,
    session: Reading,
    actor: Annotated[
        Line | None,
        Query(description="A name; or the key of a person or token, which stays theirs"),
    ] = None,
    action: Annotated[Action | None, Query(examples=["run.stop"])] = None,
    object_slug: Annotated[Line | None, Query(alias="object", examples=["run-7fk2m9qd"])] = None,
    outcome: AuditOutcome | None = None,
    project: Annotated[Line | None, Query(description="Only what belongs to it")] = None,
    since: Annotated[Time | None, Query(description="From this time on")] = None,
    until: Annotated[Time | None, Query(description="Before this time")] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: IdCursor = None,
) -> Listing[AuditAnswer]:
    """Changes and denied attempts, newest first: all of the site for its administrators, else
    those of the projects that the caller administers."""
    project_ids = caller.projects(Permission.MANAGE)
    if project is not None:
        project_ids = frozenset({(await projects.get(session, project)).id})
    chosen = service.Filter.by(
        actor or "",
        action=action,
        object_slug=object_slug or "",
        outcome=outcome,
        since=since,
        until=until,
        project_ids=project_ids,
    )
    page = await service.list_page(session, chosen, limit=limit, cursor=cursor)
    return Listing(items=[AuditAnswer.of(row) for row in page.items], next_cursor=page.next_cursor)
