"""Zips as people upload them, and as nobody should."""

import io
import zipfile
from collections.abc import Mapping

Entry = tuple[str | zipfile.ZipInfo, bytes]


def zip_of(files: Mapping[str, str | bytes]) -> bytes:
    """An ordinary zip, compressed by deflate."""
    encoded = {n: c.encode() if isinstance(c, str) else c for n, c in files.items()}
    return zip_entries(*encoded.items())


def zip_entries(*entries: Entry, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Entries as they are given, twice where they are given twice."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as packed:
        for name, content in entries:
            packed.writestr(name, content, compress_type=method)
    return file.getvalue()


def with_mode(name: str, mode: int) -> zipfile.ZipInfo:
    """An entry that says it was a file of this mode on Unix."""
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = mode << 16
    return info
