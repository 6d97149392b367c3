"""Looks at an uploaded zip before it is stored: its size, its names, and every byte in it. Pure.

What is declared is compared with what comes out, entry by entry, so that no zip is larger on a
cluster than it says here. Zips inside of it are data like any other.
"""

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from app.code.end_record import read_end_record
from app.code.names import find_twice, path_problem, shown
from app.errors import Invalid, Problem

MAX_BYTES = 90_000_000
MAX_UNPACKED_BYTES = 500_000_000
MAX_ENTRIES = 20_000
MAX_RATIO = 100
FIELD = "code"
# Below this, even the densest zip does no harm.
_HARMLESS_BYTES = 20_000_000
_DIRECTORY_BYTES = 6_000_000
UTF8 = 0x800
_ENCRYPTED = 0x41
_LOCAL = struct.Struct("<4s5H3L2H")
_PIECE = 1 << 20
_PACK = "pack it with `zip -r code.zip .` in the folder of your code"
_LEAVE_OUT = "leave data, checkpoints, environments and .git out of it"


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a zip. `root_names`: files and folders at its top, sorted."""

    file_count: int
    unpacked_bytes: int
    root_names: tuple[str, ...]


def inspect(file: BinaryIO) -> Contents:
    """Reads the whole zip; takes seconds for a large one. Raises `Invalid`, naming the entry."""
    _check_size(file)
    try:
        with zipfile.ZipFile(file) as packed:
            infos = packed.infolist()
            names = [name_of(info) for info in infos]
            start = packed.start_dir
    except UnicodeDecodeError:
        raise refused("name", "a name in the zip is not UTF-8: pack with a newer program") from None
    except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError, OSError):
        raise refused("zip", "this zip is damaged and cannot be read: pack it again") from None
    _check_entries(infos, names)
    room = _room(infos, start)
    for info, name in zip(infos, names, strict=True):
        _check_data(file, info, name, end=room[info.header_offset])
    files = [info.file_size for info in infos if not info.is_dir()]
    roots = tuple(sorted({name.partition("/")[0] for name in names}))
    return Contents(len(files), sum(files), roots)


def name_of(info: zipfile.ZipInfo) -> str:
    """The entry's name. Raises `UnicodeDecodeError` where it is not UTF-8.

    Some programs, that of macOS among them, write UTF-8 and do not say so.
    """
    if info.flag_bits & UTF8:
        return info.orig_filename
    return info.orig_filename.encode("cp437").decode()


def refused(rule: str, message: str) -> Invalid:
    """`message` says what is wrong, and after a colon what to do."""
    said = f"{message}; nothing was stored"
    return Invalid(said, [Problem(FIELD, rule, said)])


def _check_size(file: BinaryIO) -> None:
    size = file.seek(0, 2)
    if size > MAX_BYTES:
        raise refused(
            "size", f"the zip has {size:,} bytes, at most {MAX_BYTES:,} are taken: {_LEAVE_OUT}"
        )
    end = read_end_record(file)
    if end is None:
        raise refused("zip", f"this is no zip, or only its beginning: {_PACK}")
    if end.is_zip64:
        raise refused("zip", "this is a zip64, made for larger files: pack it as an ordinary zip")
    if end.entry_count > MAX_ENTRIES or end.directory_bytes > _DIRECTORY_BYTES:
        raise refused("entries", f"the zip has more than {MAX_ENTRIES:,} files: {_LEAVE_OUT}")


def _check_entries(infos: Sequence[zipfile.ZipInfo], names: Sequence[str]) -> None:
    if len(infos) > MAX_ENTRIES:
        raise refused("entries", f"the zip has more than {MAX_ENTRIES:,} files: {_LEAVE_OUT}")
    if all(info.is_dir() for info in infos):
        raise refused("empty", f"the zip has no file in it: {_PACK}")
    for info, name in zip(infos, names, strict=True):
        problem = path_problem(name) or _kind_problem(info)
        if problem is not None:
            raise refused("entry", f"{shown(name)} {problem}")
    twice = find_twice(names)
    if twice is not None:
        raise refused("duplicate", f"{shown(twice)} is in the zip twice: {_PACK}")
    unpacked, packed = sum(i.file_size for i in infos), sum(i.compress_size for i in infos)
    if unpacked > MAX_UNPACKED_BYTES:
        message = (
            f"it unpacks to {unpacked:,} bytes, at most {MAX_UNPACKED_BYTES:,} are taken: "
            f"{_LEAVE_OUT}"
        )
        raise refused("unpacked_size", message)
    if unpacked > max(_HARMLESS_BYTES, MAX_RATIO * packed):
        message = (
            f"it unpacks to more than {MAX_RATIO} times its size, as a zip bomb does: leave files "
            "that are nearly all zeros out, and make them when the job runs"
        )
        raise refused("ratio", message)


def _kind_problem(info: zipfile.ZipInfo) -> str | None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "is a symbolic link: put the file itself in its place"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a device, a pipe or a socket, and no file: leave it out"
    if info.flag_bits & _ENCRYPTED:
        return "is encrypted: pack without a password"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is compressed in a way that is not taken: pack with deflate, as zip does"
    if info.is_dir() and info.file_size:
        return "is a folder and has bytes of its own: pack the folder again"
    return None


def _room(infos: Sequence[zipfile.ZipInfo], end: int) -> dict[int, int]:
    """Where the next entry begins, by where an entry does.

    Entries that share bytes are how a small zip declares a small size and unpacks to a lot.
    """
    starts = sorted(info.header_offset for info in infos)
    room = dict(zip(starts, [*starts[1:], end], strict=True))
    if len(room) < len(starts) or starts[0] < 0 or starts[-1] > end:
        raise refused("overlap", f"files in the zip overlap, as only in a zip bomb: {_PACK}")
    return room


def _check_data(file: BinaryIO, info: zipfile.ZipInfo, name: str, *, end: int) -> None:
    file.seek(info.header_offset)
    header = file.read(_LOCAL.size)
    if len(header) < _LOCAL.size or header[:4] != b"PK\x03\x04":
        raise _damaged(name)
    *_, name_length, extra_length = _LOCAL.unpack(header)
    if file.read(name_length) != name.encode():
        raise refused("entry", f"{shown(name)} has another name in its own header: {_PACK}")
    if file.seek(extra_length, 1) + info.compress_size > end:
        raise refused(
            "overlap", f"{shown(name)} overlaps another file, as only in a zip bomb: {_PACK}"
        )
    size = checksum = 0
    for piece in _unpacked(file, info, name):
        size += len(piece)
        checksum = zlib.crc32(piece, checksum)
    if size != info.file_size or checksum != info.CRC:
        raise _damaged(name)


def _unpacked(file: BinaryIO, info: zipfile.ZipInfo, name: str) -> Iterator[bytes]:
    """The entry's bytes, at most one piece more than it declares."""
    left = info.compress_size
    if info.compress_type == zipfile.ZIP_STORED:
        while left and (piece := file.read(min(left, _PIECE))):
            left -= len(piece)
            yield piece
        return
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    size, waiting = 0, b""
    try:
        while not inflate.eof and size <= info.file_size:
            fresh = b"" if waiting else file.read(min(left, _PIECE))
            left -= len(fresh)
            piece = inflate.decompress(waiting or fresh, _PIECE)
            waiting = inflate.unconsumed_tail
            size += len(piece)
            yield piece
            if not (piece or waiting or fresh):
                break
    except zlib.error:
        raise _damaged(name) from None
    if not inflate.eof or inflate.unused_data or left:
        raise _damaged(name)


def _damaged(name: str) -> Invalid:
    return refused("damaged", f"{shown(name)} is damaged, or larger than the zip says: {_PACK}")
