"""JSON API of secrets: names and dates out, values in only."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Response
from sqlalchemy.ext.asyncio import AsyncSession

from app.api.deps import Admin, ProjectManager, ProjectReader, Reading, Writing
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.projects import service as projects
from app.routing import Router
from app.secrets import service
from app.secrets.schemas import SecretAnswer, SecretBody

router = Router(tags=["secrets"], route_class=JsonRoute)
SecretName = Annotated[
    str, Path(max_length=service.MAX_NAME, description="An environment variable's name")
]


@router.get("/projects/{project_id}/secrets")
async def list_project_secrets(
    project_id: str, _caller: ProjectReader, session: Reading
) -> Listing[SecretAnswer]:
    """The secrets that configs of the project may name under `job.secrets`."""
    return await _list(session, (await projects.get(session, project_id)).id)


@router.put("/projects/{project_id}/secrets/{name}")
async def put_project_secret(
    project_id: str,
    name: SecretName,
    body: SecretBody,
    caller: ProjectManager,
    session: Writing,
    response: Response,
) -> SecretAnswer:
    """Sets or replaces a secret. 201: it is new."""
    project = await projects.get(session, project_id)
    is_new = await service.put(session, project.id, name, body.value, actor=caller.actor)
    response.status_code = 201 if is_new else 200
    return await _one(session, project.id, name)


@router.delete("/projects/{project_id}/secrets/{name}", status_code=204)
async def delete_project_secret(
    project_id: str, name: SecretName, caller: ProjectManager, session: Writing
) -> None:
    """Runs that name it fail at their next start, and say so."""
    project = await projects.get(session, project_id)
    await service.delete(session, project.id, name, actor=caller.actor)


@router.get("/secrets")
async def list_site_secrets(_caller: Admin, session: Reading) -> Listing[SecretAnswer]:
    """The secrets of the site. No config can name them."""
    return await _list(session, None)


@router.put("/secrets/{name}")
async def put_site_secret(
    name: SecretName, body: SecretBody, caller: Admin, session: Writing, response: Response
) -> SecretAnswer:
    """Sets or replaces a secret. 201: it is new."""
    is_new = await service.put(session, None, name, body.value, actor=caller.actor)
    response.status_code = 201 if is_new else 200
    return await _one(session, None, name)


@router.delete("/secrets/{name}", status_code=204)
async def delete_site_secret(name: SecretName, caller: Admin, session: Writing) -> None:
    await service.delete(session, None, name, actor=caller.actor)


async def _list(session: AsyncSession, project_id: UUID | None) -> Listing[SecretAnswer]:
    rows = await service.list_all(session, project_id)
    return Listing(items=[SecretAnswer.of(row) for row in rows])


async def _one(session: AsyncSession, project_id: UUID | None, name: str) -> SecretAnswer:
    rows = await service.list_all(session, project_id)
    return SecretAnswer.of(next(row for row in rows if row.name == name))
