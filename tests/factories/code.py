"""Uploaded code, as its row: without the bytes, which few tests need."""

import io
import zipfile

from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import utcnow
from app.ids import new_id, new_slug
from app.models import CodeUpload, Project


def _small_zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("train.py", "print(1)\n")
    return file.getvalue()


SMALL_ZIP = _small_zip()


async def make_upload(
    session: AsyncSession, project: Project, sha256: str = "0" * 64
) -> CodeUpload:
    """Complete, and named by no config."""
    now = utcnow()
    upload = CodeUpload(
        id=new_id(),
        slug=new_slug("code"),
        project_id=project.id,
        sha256=sha256,
        name="code.zip",
        size_bytes=1,
        unpacked_bytes=1,
        file_count=1,
        root_names=["train.py"],
        created_by="ada",
        created_at=now,
        uploaded_at=now,
        completed_at=now,
    )
    session.add(upload)
    await session.flush()
    return upload
