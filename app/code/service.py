"""Uploaded code: checked and stored, found again by its digest, put into packages, cleaned up."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, BinaryIO
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.clock import utcnow
from app.code import archive, package, repository, store
from app.code.archive import Contents
from app.code.names import shown
from app.code.receive import Received
from app.db import Database
from app.errors import Conflict, Invalid, NotFound, Problem
from app.ids import new_id, new_slug
from app.models import CodeUpload
from app.paging import Page, decode_id_cursor, page_of
from app.recipes.sources import UPLOAD, uploaded_digest
from app.secrets import service as secrets

WORKING_DIR = "job.working_dir"
KEPT_UNUSED = timedelta(days=7)
MAX_UNUSED_BYTES = 2_000_000_000
_UNFINISHED = timedelta(hours=1)
_NAME_LENGTH = 200
_CLEANED_AT_ONCE = 20


def reference(upload: CodeUpload) -> str:
    """What a config writes under `job.working_dir` to take it along."""
    return f"{UPLOAD}{upload.sha256}"


async def add(
    database: Database, project_id: UUID, given: Received, *, name: str, actor: Actor
) -> CodeUpload:
    """Checks a zip to its last byte and stores it for a project; one that it has is found again.

    Raises `Invalid` for a zip that may not be unpacked on a cluster, `Conflict` if the project has
    too much that no config names.
    """
    async with database.write() as session:
        await secrets.refuse_values(session, [project_id], {"name": name})
        found = await _uploaded_again(session, project_id, given.sha256, actor)
    if found is not None:
        return found
    contents = await asyncio.to_thread(archive.inspect, given.file)
    upload = _row(project_id, given, contents, name=name, actor=actor)
    async with database.write() as session:
        await _check_room(session, project_id, given.size_bytes)
        session.add(upload)
    await store.write(database, upload.id, given.file)
    return await _complete(database, upload, actor)


async def get(session: AsyncSession, slug: str) -> CodeUpload:
    """Raises `NotFound`."""
    found = await repository.find(session, slug)
    if found is None:
        raise NotFound(f"there is no uploaded code {slug}")
    return found


async def list_page(
    session: AsyncSession,
    *,
    projects: Iterable[UUID] | None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[CodeUpload]:
    """Those of these projects (None: of all), newest first. Raises `Invalid` for a wrong cursor."""
    before = decode_id_cursor(cursor) if cursor else None
    ids = None if projects is None else list(projects)
    rows = await repository.list_before(session, ids, before=before, limit=limit + 1)
    return page_of(rows, limit, lambda row: [str(row.id)])


async def require_uploaded(
    session: AsyncSession, project_id: UUID, values: Mapping[str, Any], files: Iterable[str]
) -> None:
    """Checks the uploaded zip that a config names, if it does, and notes that it is used.

    Raises `Invalid` if the project has none of that digest, or if one of the job's own `files`
    would take the place of a file in it.
    """
    digest = uploaded_digest(values.get(WORKING_DIR))
    if digest is None:
        return
    found = await repository.find_by_digest(session, project_id, digest, is_locked=True)
    if found is None:
        message = "this project has no uploaded zip of this digest: upload it, or upload it again"
        raise Invalid(message, [Problem(WORKING_DIR, "unknown_upload", message)])
    clashes = package.clashing(found.root_names, files)
    if clashes:
        message = (
            f"your zip has {', '.join(map(shown, clashes))} at its top, which is a file of the "
            "job itself: rename it, or move your code into a folder"
        )
        raise Invalid(message, [Problem(WORKING_DIR, "name_clash", message)])
    found.used_at = found.used_at or utcnow()


async def find_for_job(
    session: AsyncSession, project_id: UUID, values: Mapping[str, Any]
) -> CodeUpload | None:
    """The uploaded zip that a config names. Raises `NotFound` if it was cleaned up since."""
    digest = uploaded_digest(values.get(WORKING_DIR))
    if digest is None:
        return None
    found = await repository.find_by_digest(session, project_id, digest)
    if found is None:
        raise NotFound("the uploaded zip that the config names is no longer kept")
    return found


async def read_into(database: Database, upload: CodeUpload, file: BinaryIO) -> None:
    """Appends the zip to a file. Raises `Conflict` unless it is whole."""
    await store.read(database, upload, file)


async def pack(
    database: Database,
    upload: CodeUpload | None,
    file: BinaryIO,
    *,
    files: Mapping[str, str],
    excludes: Sequence[str],
) -> None:
    """Makes a job's package of an empty file: the job's own files over the uploaded zip.

    Raises `Conflict` unless the zip is whole, or if it has one of the files, too; `Invalid` for a
    wrong pattern; OSError.
    """
    if upload is not None:
        await read_into(database, upload, file)
    await asyncio.to_thread(package.build, file, files, excludes)


async def forget_unused(session: AsyncSession, now: datetime) -> None:
    """Deletes uploads that were never completed, and those that no config names for some days."""
    lost = await repository.list_unfinished(
        session, before=now - _UNFINISHED, limit=_CLEANED_AT_ONCE
    )
    for upload in lost:
        await repository.remove(session, upload)
    unused: Sequence[CodeUpload] = await repository.list_unused(
        session, before=now - KEPT_UNUSED, limit=_CLEANED_AT_ONCE
    )
    for upload in unused:
        if await repository.is_named(session, upload):
            # Never looked at again: configs are kept for ever.
            upload.used_at = now
        else:
            await repository.remove(session, upload)


def _row(
    project_id: UUID, given: Received, contents: Contents, *, name: str, actor: Actor
) -> CodeUpload:
    now = utcnow()
    return CodeUpload(
        id=new_id(),
        slug=new_slug("code"),
        project_id=project_id,
        sha256=given.sha256,
        name="".join(sign for sign in name if sign.isprintable())[:_NAME_LENGTH],
        size_bytes=given.size_bytes,
        unpacked_bytes=contents.unpacked_bytes,
        file_count=contents.file_count,
        root_names=list(contents.root_names),
        created_by=actor.name,
        created_at=now,
        uploaded_at=now,
    )


async def _check_room(session: AsyncSession, project_id: UUID, size: int) -> None:
    if await repository.unused_bytes(session, project_id) + size > MAX_UNUSED_BYTES:
        raise Conflict(
            f"this project keeps {MAX_UNUSED_BYTES:,} bytes of uploads that no config names, which "
            f"is the most; nothing was stored; they go {KEPT_UNUSED.days} days after their upload"
        )


async def _complete(database: Database, upload: CodeUpload, actor: Actor) -> CodeUpload:
    """From here on it is there; unless somebody else uploaded the same meanwhile."""
    try:
        async with database.write() as session:
            row = await session.get_one(CodeUpload, upload.id)
            row.completed_at = row.uploaded_at = utcnow()
            _record(session, actor, row)
            await session.flush()
            return row
    except IntegrityError:
        async with database.write() as session:
            await repository.remove(session, upload)
            found = await _uploaded_again(session, upload.project_id, upload.sha256, actor)
        if found is None:
            raise Conflict("the same zip was uploaded and removed just now: try again") from None
        return found


async def _uploaded_again(
    session: AsyncSession, project_id: UUID, sha256: str, actor: Actor
) -> CodeUpload | None:
    found = await repository.find_by_digest(session, project_id, sha256, is_locked=True)
    if found is not None:
        found.uploaded_at = utcnow()
        _record(session, actor, found)
    return found


def _record(session: AsyncSession, actor: Actor, upload: CodeUpload) -> None:
    target = Target("code", upload.slug, upload.project_id)
    details = {"sha256": upload.sha256, "size_bytes": upload.size_bytes}
    audit.record(session, actor, Action.CODE_UPLOAD, target, details=details)
