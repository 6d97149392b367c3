"""JSON shapes of uploaded code."""

from datetime import datetime

from pydantic import Field

from app.api.schemas import Answer
from app.code import service
from app.models import CodeUpload


class CodeAnswer(Answer):
    id: str = Field(examples=["code-7fk2m9qd"])
    reference: str = Field(
        description="What a config names under `job.working_dir`", examples=["upload:9f86d081…"]
    )
    sha256: str
    name: str = Field(description="The file's name where it came from", examples=["code.zip"])
    size_bytes: int
    unpacked_bytes: int
    file_count: int
    root_names: list[str] = Field(description="Files and folders at the zip's top")
    created_by: str
    uploaded_at: datetime = Field(description="When it was last sent")
    is_used: bool = Field(description="Whether a config is known to name it; others go after days")

    @classmethod
    def of(cls, upload: CodeUpload) -> "CodeAnswer":
        return cls(
            id=upload.slug,
            reference=service.reference(upload),
            sha256=upload.sha256,
            name=upload.name,
            size_bytes=upload.size_bytes,
            unpacked_bytes=upload.unpacked_bytes,
            file_count=upload.file_count,
            root_names=upload.root_names,
            created_by=upload.created_by,
            uploaded_at=upload.uploaded_at,
            is_used=upload.used_at is not None,
        )
