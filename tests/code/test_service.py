"""What configs may name, what is cleaned up, and what is kept."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.clock import utcnow
from app.code import service
from app.code.receive import received
from app.db import Database
from app.errors import Conflict, Invalid, NotFound
from app.experiments import service as experiments
from app.models import CodeChunk, CodeUpload, Project
from app.projects import service as projects
from tests.code.zips import zip_of
from tests.factories import ADA

LATER = timedelta(days=8)


async def pieces(data: bytes) -> Any:
    yield data


async def add(
    database: Database, folder: Path, files: dict[str, str] | None = None, project: str = "Ours"
) -> CodeUpload:
    async with database.write() as session:
        home = await _project(session, project)
    async with received(pieces(zip_of(files or {"a.py": "x"})), folder) as given:
        return await service.add(database, home.id, given, name="a.zip", actor=ADA)


async def _project(session: Any, name: str) -> Project:
    try:
        return await projects.get(session, name.lower())
    except NotFound:
        return await projects.create(session, name=name, actor=ADA)


async def test_a_config_names_an_upload_of_its_own_project(
    database: Database, tmp_path: Path
) -> None:
    upload = await add(database, tmp_path)
    values = {"job.working_dir": service.reference(upload)}
    async with database.write() as session:
        other = await _project(session, "Theirs")
        with pytest.raises(Invalid, match="upload it") as caught:
            await service.require_uploaded(session, other.id, values, [])
        assert caught.value.problems[0].field == "job.working_dir"
        await service.require_uploaded(session, upload.project_id, values, ["train_job.sh"])
    async with database.read() as session:
        assert (await service.get(session, upload.slug)).used_at is not None


async def test_other_sources_need_no_upload(database: Database) -> None:
    async with database.write() as session:
        home = await _project(session, "Ours")
        for source in ("", "s3://bucket/a.zip", None):
            await service.require_uploaded(session, home.id, {"job.working_dir": source}, [])


async def test_a_file_of_the_job_is_not_replaced(database: Database, tmp_path: Path) -> None:
    upload = await add(database, tmp_path, {"train_job.sh/x": "", "a.py": ""})
    values = {"job.working_dir": service.reference(upload)}
    async with database.write() as session:
        with pytest.raises(Invalid, match=r"train_job\.sh at its top"):
            await service.require_uploaded(
                session, upload.project_id, values, ["train_job.sh", "get_code.py"]
            )


async def test_unused_uploads_go_after_days(database: Database, tmp_path: Path) -> None:
    upload = await add(database, tmp_path)
    for now, is_there in ((utcnow() + timedelta(days=6), True), (utcnow() + LATER, False)):
        async with database.write() as session:
            await service.forget_unused(session, now)
        async with database.read() as session:
            assert (await session.get(CodeUpload, upload.id) is not None) == is_there
            assert (await session.get(CodeChunk, (upload.id, 0)) is not None) == is_there


async def test_an_upload_that_a_config_names_is_kept(database: Database, tmp_path: Path) -> None:
    upload = await add(database, tmp_path)
    elsewhere = await add(database, tmp_path, project="Theirs")
    async with database.write() as session:
        home = await _project(session, "Ours")
        config = {"job.working_dir": service.reference(upload)}
        await experiments.create(
            session, project=home, name="x", recipe="command", config=config, actor=ADA
        )
    async with database.write() as session:
        await service.forget_unused(session, utcnow() + LATER)
    async with database.read() as session:
        assert (await service.get(session, upload.slug)).used_at is not None
        with pytest.raises(NotFound):
            await service.get(session, elsewhere.slug)


async def test_what_was_never_completed_goes(database: Database, tmp_path: Path) -> None:
    upload = await add(database, tmp_path)
    async with database.write() as session:
        row = await session.get_one(CodeUpload, upload.id)
        row.completed_at = None
        await service.forget_unused(session, utcnow() + timedelta(minutes=30))
        assert await session.get(CodeChunk, (upload.id, 0)) is not None
        await service.forget_unused(session, utcnow() + timedelta(hours=2))
    async with database.read() as session:
        assert await session.get(CodeUpload, upload.id) is None


async def test_a_stored_zip_that_was_changed_is_not_handed_out(
    database: Database, tmp_path: Path
) -> None:
    upload = await add(database, tmp_path)
    async with database.write() as session:
        chunk = await session.get_one(CodeChunk, (upload.id, 0))
        chunk.payload = chunk.payload[:-1] + b"x"
    with (tmp_path / "copy").open("w+b") as file, pytest.raises(Conflict, match="not whole"):
        await service.read_into(database, upload, file)
