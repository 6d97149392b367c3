"""The page of a project's uploaded code: listed, and uploaded by a plain form."""

from collections.abc import AsyncIterator

from fastapi import Depends, Request
from starlette.datastructures import UploadFile
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.access.limits import RequestLimit
from app.access.permissions import Permission
from app.code import service, views
from app.code.archive import FIELD, MAX_BYTES
from app.code.receive import received
from app.db import Database
from app.errors import Conflict, Invalid, NotFound, Problem, SkydeckError, TooLarge
from app.models import CodeUpload
from app.projects import service as projects
from app.routing import Router
from app.web.deps import Config, ProjectReader, ProjectWriter, Store, Viewer
from app.web.filters import sentence
from app.web.flash import flash
from app.web.templating import page

router = Router()
UPLOADS_A_MINUTE = 60
# What a form adds around its file.
_AROUND_BYTES = 10_000
_ROWS = 100
_PIECE = 1 << 20


@router.get("/projects/{slug}/code")
async def list_uploads(
    request: Request,
    slug: str,
    store: Store,
    viewer: ProjectReader,
    uploaded: str = "",
    cursor: str = "",
) -> HTMLResponse:
    """`uploaded` names one that was sent just now, whose reference is shown on top."""
    return await _page(request, store, viewer, slug, uploaded=uploaded, cursor=cursor)


@router.post(
    "/projects/{slug}/code",
    max_body_size=MAX_BYTES + _AROUND_BYTES,
    dependencies=[Depends(RequestLimit("uploads", UPLOADS_A_MINUTE))],
)
async def upload(
    request: Request, slug: str, store: Store, settings: Config, viewer: ProjectWriter
) -> Response:
    async with store.read() as session:
        project = await projects.get(session, slug)
    async with request.form(max_files=1, max_fields=1) as form:
        try:
            file = form.get(FIELD)
            if not isinstance(file, UploadFile) or not file.filename:
                raise Invalid("choose a zip first", [Problem(FIELD, "required", "choose a zip")])
            async with received(_pieces(file), settings.home) as given:
                stored = await service.add(
                    store, project.id, given, name=file.filename, actor=viewer.principal.actor
                )
        except (Invalid, Conflict, TooLarge) as error:
            return await _page(request, store, viewer, slug, error=error)
    where = f"{views.url_of(slug)}?uploaded={stored.slug}"
    return flash(RedirectResponse(where, 303), "code-uploaded")


async def _page(
    request: Request,
    store: Database,
    viewer: Viewer,
    slug: str,
    *,
    uploaded: str = "",
    cursor: str = "",
    error: SkydeckError | None = None,
) -> HTMLResponse:
    async with store.read() as session:
        project = await projects.get(session, slug)
        found = await service.list_page(
            session, projects=[project.id], limit=_ROWS, cursor=cursor or None
        )
        new: CodeUpload | None = None
        if uploaded:
            new = await service.get(session, uploaded)
            if new.project_id != project.id:
                raise NotFound(f"there is no uploaded code {uploaded}")
    context = views.code_page(
        project,
        found,
        can_upload=viewer.may(Permission.WRITE, project.id),
        uploaded=new,
        problem=sentence(error.message) if error else "",
    )
    return page(request, "code/list.html", context, status=error.status if error else 200)


async def _pieces(file: UploadFile) -> AsyncIterator[bytes]:
    while piece := await file.read(_PIECE):
        yield piece
