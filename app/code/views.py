"""Builds the page of a project's uploaded code."""

from app.code import service
from app.code.archive import MAX_BYTES
from app.code.contexts import CodePage, UploadForm, UploadRow
from app.models import CodeUpload, Project
from app.paging import Page

_NAMES_SHOWN = 6


def code_page(
    project: Project,
    found: Page[CodeUpload],
    *,
    can_upload: bool,
    uploaded: CodeUpload | None = None,
    problem: str = "",
) -> CodePage:
    older = f"{url_of(project.slug)}?cursor={found.next_cursor}" if found.next_cursor else ""
    return CodePage(
        project=project.name,
        project_url=f"/projects/{project.slug}",
        rows=[_row(each) for each in found.items],
        form=upload_form(project.slug, problem) if can_upload else None,
        uploaded=_row(uploaded) if uploaded else None,
        older_url=older,
    )


def upload_form(project: str, problem: str = "") -> UploadForm:
    """The form by which members of a project upload a zip."""
    return UploadForm(
        url=url_of(project),
        most_megabytes=MAX_BYTES // 1_000_000,
        kept_days=service.KEPT_UNUSED.days,
        problem=problem,
    )


def url_of(project: str) -> str:
    return f"/projects/{project}/code"


def _row(upload: CodeUpload) -> UploadRow:
    names = upload.root_names[:_NAMES_SHOWN]
    more = len(upload.root_names) - len(names)
    return UploadRow(
        slug=upload.slug,
        reference=service.reference(upload),
        name=upload.name or upload.slug,
        size_bytes=upload.size_bytes,
        file_count=upload.file_count,
        top=", ".join(names) + (f" and {more} more" if more else ""),
        created_by=upload.created_by,
        uploaded_at=upload.uploaded_at,
        is_used=upload.used_at is not None,
    )
