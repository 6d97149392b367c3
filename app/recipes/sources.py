"""Where a config's code comes from: a git commit, a zip on S3, or an uploaded zip. Pure.

Each is named by what cannot change; an object on S3 is as constant as its owner keeps it.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

UPLOAD = "upload:"
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PATH = r"[A-Za-z0-9_.~%+/-]+"
_GIT = re.compile(
    rf"https://{_HOST}(?::\d{{1,5}})?/{_PATH}"
    rf"|ssh://(?:[A-Za-z0-9_.-]+@)?{_HOST}(?::\d{{1,5}})?/{_PATH}"
    rf"|git@{_HOST}:{_PATH}"
)
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_WANTED = "write https://host/repository@commit, s3://bucket/code.zip, or upload:DIGEST"


class SourceKind(StrEnum):
    GIT = "git"
    S3 = "s3"
    UPLOAD = "upload"


@dataclass(frozen=True, slots=True)
class Source:
    """`place`: the repository's address, the s3:// URI, or the SHA-256 of an uploaded zip."""

    kind: SourceKind
    place: str
    commit: str = ""


class BadSource(ValueError):
    """No source; `fix` says what would be one."""

    def __init__(self, message: str, fix: str = _WANTED) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


def parse_source(text: str) -> Source | None:
    """What `job.working_dir` names; None where it is empty. Raises `BadSource`.

    No message repeats the text: there may be a password in it.
    """
    if not text:
        return None
    if text.startswith(UPLOAD):
        return _upload(text.removeprefix(UPLOAD))
    if text.startswith("s3://"):
        return _s3(text)
    if text.startswith(("https://", "ssh://", "git@")):
        return _git(text)
    if "://" in text:
        raise BadSource("Your code comes from https://, ssh:// or s3://, and from nowhere else")
    raise BadSource("Your code must be a git URL with a commit, an s3:// zip, or upload:DIGEST")


def uploaded_digest(text: object) -> str | None:
    """The SHA-256 of the uploaded zip that `job.working_dir` names; None for any other."""
    try:
        source = parse_source(text) if isinstance(text, str) else None
    except BadSource:
        return None
    return source.place if source and source.kind is SourceKind.UPLOAD else None


def _upload(digest: str) -> Source:
    if not _DIGEST.fullmatch(digest):
        message = "An uploaded zip is named by its SHA-256, 64 digits of it"
        raise BadSource(message, "upload the zip and copy the reference that is shown then")
    return Source(SourceKind.UPLOAD, digest)


def _s3(text: str) -> Source:
    bucket, _, key = text.removeprefix("s3://").partition("/")
    if not _BUCKET.fullmatch(bucket) or ".." in bucket:
        raise BadSource("This s3:// address names no bucket", "write s3://bucket/folder/code.zip")
    if not key.endswith(".zip") or not key.isprintable() or " " in key or "?" in key or "#" in key:
        message = "Your code on S3 must be one zip, without a query behind it"
        raise BadSource(message, "write s3://bucket/folder/code.zip")
    return Source(SourceKind.S3, text)


def _git(text: str) -> Source:
    address, _, commit = text.rpartition("@")
    if _has_password(text):
        message = "There is a user or a password in the address of your code, and all can read it"
        fix = "leave it out; for a private repository, upload a zip or use a deploy key over ssh"
        raise BadSource(message, fix)
    if not _COMMIT.fullmatch(commit):
        message = "Your code must name its commit, all 40 digits of it: a branch moves on"
        raise BadSource(message, "write https://host/repository@commit")
    if not _GIT.fullmatch(address) or "/../" in f"{address}/":
        raise BadSource("This is no address of a git repository")
    return Source(SourceKind.GIT, address, commit)


def _has_password(text: str) -> bool:
    scheme, _, rest = text.partition("://")
    user, at, _ = rest.partition("/")[0].rpartition("@")
    return bool(at) and (scheme == "https" or ":" in user)
