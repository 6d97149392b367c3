"""What the page of a project's uploaded code is given."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class UploadForm:
    """A form of its own, for the page of uploads and for whoever edits a config.

    `problem`: why the last upload was refused.
    """

    url: str
    most_megabytes: int
    kept_days: int
    problem: str = ""


@dataclass(frozen=True, slots=True)
class UploadRow:
    """`reference` is what a config names; `top` lists what lies at the zip's top, perhaps cut."""

    slug: str
    reference: str
    name: str
    size_bytes: int
    file_count: int
    top: str
    created_by: str
    uploaded_at: datetime
    is_used: bool


@dataclass(frozen=True, slots=True)
class CodePage:
    """`uploaded`: what was sent just now. `form` None: the reader may not upload."""

    project: str
    project_url: str
    rows: Sequence[UploadRow]
    form: UploadForm | None
    uploaded: UploadRow | None
    older_url: str
