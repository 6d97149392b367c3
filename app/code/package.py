"""The zip that a job's working directory is made of: the job's own files over the user's code.

Entries of the uploaded zip stay compressed as they are: only its directory is written anew, without
what is left out.
"""

import hashlib
import json
import stat
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from typing import BinaryIO

from app.code.archive import UTF8, name_of
from app.code.ignore import matcher
from app.errors import Conflict

# The time of a file in a zip cannot be earlier, and must not differ from run to run.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_FLAGS_OFFSET = 6


def digest(files: Mapping[str, str], *, sha256: str | None, excludes: Sequence[str]) -> str:
    """Names a package by all that goes into it, without making it. `sha256`: the uploaded zip's."""
    parts = json.dumps([sorted(files.items()), sha256, list(excludes)])
    return hashlib.sha256(parts.encode()).hexdigest()


def build(file: BinaryIO, files: Mapping[str, str], excludes: Sequence[str]) -> None:
    """Makes the package of a file that holds the uploaded zip, or nothing at all.

    Raises `Conflict` if a file of the job is in the zip, too, `Invalid` for a wrong pattern.
    """
    is_left_out = matcher(excludes)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as package:
        for info in package.filelist:
            _say_utf8(file, info)
        package.filelist = [info for info in package.filelist if not is_left_out(info.filename)]
        package.NameToInfo = {info.filename: info for info in package.filelist}
        clashes = clashing((info.filename for info in package.filelist), files)
        if clashes:
            raise Conflict(f"the zip holds {', '.join(clashes)}, which is a file of the job itself")
        for name, text in sorted(files.items()):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            package.writestr(info, text, zipfile.ZIP_DEFLATED)


def _say_utf8(file: BinaryIO, info: zipfile.ZipInfo) -> None:
    """An entry whose name is UTF-8 and does not say so says so, in both of its headers."""
    name = name_of(info)
    if name != info.filename:
        info.filename = name
        info.flag_bits |= UTF8
        file.seek(info.header_offset + _FLAGS_OFFSET)
        file.write(info.flag_bits.to_bytes(2, "little"))


def clashing(names: Iterable[str], files: Iterable[str]) -> list[str]:
    """The job's own files whose place at the top of a zip is taken."""
    return sorted({name.partition("/")[0] for name in names} & set(files))
