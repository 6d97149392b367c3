"""Where a zip's directory is and how long, read before anything trusts it.

The directory is read whole into memory by whoever opens the zip, so its length is looked at first.
Layout: APPNOTE.TXT 6.3.10 of PKWARE, sections 4.3.15 and 4.3.16.
"""

import struct
from dataclasses import dataclass
from typing import BinaryIO

_END = struct.Struct("<4s4H2LH")
_SIGNATURE, _LOCATOR = b"PK\x05\x06", b"PK\x06\x07"
_LOCATOR_SIZE = 20
_LONGEST_COMMENT = 65_535


@dataclass(frozen=True, slots=True)
class EndRecord:
    """`entry_count` and `directory_bytes` as declared; `is_zip64`: they stand elsewhere."""

    entry_count: int
    directory_bytes: int
    is_zip64: bool


def read_end_record(file: BinaryIO) -> EndRecord | None:
    """The end record that `zipfile` takes for it; None where there is none."""
    size = file.seek(0, 2)
    length = min(size, _END.size + _LONGEST_COMMENT + _LOCATOR_SIZE)
    file.seek(size - length)
    tail = file.read(length)
    start = len(tail) - _END.size
    # Without a comment the record is the very end, whatever looks like one inside of it.
    if start < 0 or tail[start : start + 4] != _SIGNATURE or tail[-2:] != b"\0\0":
        start = tail.rfind(_SIGNATURE)
    if start < 0 or len(tail) - start < _END.size:
        return None
    _, _, _, _, count, directory_bytes, _, _ = _END.unpack_from(tail, start)
    locator = tail[max(0, start - _LOCATOR_SIZE) : start]
    return EndRecord(count, directory_bytes, is_zip64=locator.startswith(_LOCATOR))
