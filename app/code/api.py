"""JSON API of uploaded code."""

from typing import Annotated

from fastapi import Depends, HTTPException, Query, Request

from app.access.limits import RequestLimit
from app.api.deps import (
    DEFAULT_LIMIT,
    CodeReader,
    Config,
    IdCursor,
    Limit,
    ProjectReader,
    ProjectWriter,
    Reading,
    Store,
)
from app.api.schemas import Listing
from app.code import service
from app.code.archive import MAX_BYTES
from app.code.receive import received
from app.code.schemas import CodeAnswer
from app.projects import service as projects
from app.routing import Router

router = Router(tags=["code"])
UPLOADS_A_MINUTE = 60
_TYPES = ("application/zip", "application/x-zip-compressed", "application/octet-stream")
_ZIP = {"schema": {"type": "string", "format": "binary", "maxLength": MAX_BYTES}}
ProjectName = Annotated[str | None, Query(max_length=64, description="Slug of the project")]


@router.post(
    "/code",
    status_code=201,
    max_body_size=MAX_BYTES,
    dependencies=[Depends(RequestLimit("uploads", UPLOADS_A_MINUTE))],
    responses={
        413: {"description": "The zip is too large"},
        415: {"description": "The body is no zip by its Content-Type"},
    },
    openapi_extra={"requestBody": {"required": True, "content": {_TYPES[0]: _ZIP}}},
)
async def upload_code(
    request: Request,
    caller: ProjectWriter,
    store: Store,
    settings: Config,
    project: ProjectName = None,
    name: Annotated[str, Query(max_length=200, description="The file's name")] = "",
) -> CodeAnswer:
    """Stores a zip of code, sent as the body; it is checked before a byte of it is kept.

    The answer's `reference` goes into a config's `job.working_dir`. Sending the same zip again
    answers the same. A zip that no config names is deleted after seven days.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in _TYPES:
        raise HTTPException(415, f"send the zip itself, with Content-Type {_TYPES[0]}")
    async with store.write() as session:
        home = await projects.choose(session, caller, project)
    async with received(request.stream(), settings.home) as given:
        upload = await service.add(store, home.id, given, name=name, actor=caller.actor)
    return CodeAnswer.of(upload)


@router.get("/code")
async def list_code(
    caller: ProjectReader,
    session: Reading,
    project: ProjectName = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: IdCursor = None,
) -> Listing[CodeAnswer]:
    """Uploaded zips of the project, or of all that you may look at, newest first."""
    shown = await projects.narrow(session, caller, project)
    page = await service.list_page(session, projects=shown, limit=limit, cursor=cursor)
    return Listing(items=[CodeAnswer.of(each) for each in page.items], next_cursor=page.next_cursor)


@router.get("/code/{code_id}")
async def get_code(code_id: str, _caller: CodeReader, session: Reading) -> CodeAnswer:
    return CodeAnswer.of(await service.get(session, code_id))
