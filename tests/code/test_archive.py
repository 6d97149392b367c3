"""An uploaded zip is looked at to the last byte before it is stored."""

import io
import stat
import struct
import tracemalloc
import warnings
import zipfile
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.code import archive
from app.code.archive import Contents, inspect
from app.code.names import MAX_PARTS, find_twice
from app.errors import Invalid
from tests.code.zips import with_mode, zip_entries, zip_of
from tests.processor import processor_under

GOOD = {"train.py": "print(1)\n", "lib/__init__.py": "", "lib/big.txt": "a" * 100_000}


def rule_of(data: bytes) -> str:
    """The rule by which the zip is refused."""
    with pytest.raises(Invalid) as caught:
        inspect(io.BytesIO(data))
    (problem,) = caught.value.problems
    assert problem.field == "code"
    assert len(problem.message) < 300
    return problem.rule


def patched(data: bytes, signature: bytes, offset: int, value: bytes) -> bytes:
    """The zip with some bytes of its first such record replaced."""
    at = data.index(signature) + offset
    return data[:at] + value + data[at + len(value) :]


def test_an_ordinary_zip() -> None:
    found = inspect(io.BytesIO(zip_of(GOOD)))
    unpacked = sum(len(text) for text in GOOD.values())
    assert found == Contents(3, unpacked, ("lib", "train.py"))


def test_stored_files_folders_comments_and_data_before_the_zip() -> None:
    data = zip_entries(("a/", b""), ("a/b.bin", b"\0\1"), method=zipfile.ZIP_STORED)
    commented = io.BytesIO(data)
    with zipfile.ZipFile(commented, "a") as packed:
        packed.comment = b"PK\x05\x06 looks like an end"
    for each in (data, b"#!/bin/sh\n" + data):
        assert inspect(io.BytesIO(each)) == Contents(1, 2, ("a",))


def test_a_streamed_zip_whose_sizes_follow_the_data() -> None:
    class Pipe(io.RawIOBase):
        parts: list[bytes] = []  # noqa: RUF012

        def writable(self) -> bool:
            return True

        def write(self, data: bytes) -> int:  # type: ignore[override]
            self.parts.append(bytes(data))
            return len(data)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.py", "x" * 1_000)
    assert inspect(io.BytesIO(b"".join(pipe.parts))).unpacked_bytes == 1_000


def test_names_of_macos_that_are_utf8_and_do_not_say_so() -> None:
    data = zip_of({"übung.py": "x"})
    for signature, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        data = patched(data, signature, offset, b"\0\0")
    assert inspect(io.BytesIO(data)).root_names == ("übung.py",)


def test_zips_in_the_zip_are_files_like_others() -> None:
    inner = zip_entries(("../../evil", b"x"))
    assert inspect(io.BytesIO(zip_of({"data.zip": inner}))).file_count == 1


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../evil.py",
        "a/../../evil.py",
        "a//b",
        "./a",
        "a/./b",
        "C:/a",
        "a\\b.py",
        "a\nb",
        "a\u202eb",
        "a" * 256,
        "/".join(["folder"] * 200),
        "/".join(["f"] * (MAX_PARTS + 1)),
    ],
)
def test_names_that_lead_elsewhere_or_cannot_be_kept(name: str) -> None:
    assert rule_of(zip_entries((name, b"x"))) == "entry"


def test_names_that_are_not_utf8() -> None:
    data = zip_of({"\u00fc.py": "x"})
    for signature, flag, name in ((b"PK\x01\x02", 8, 46), (b"PK\x03\x04", 6, 30)):
        data = patched(data, signature, flag, b"\0\0")
        data = patched(data, signature, name, b"\xfc\xfc")
    assert rule_of(data) == "name"


@pytest.mark.parametrize(
    "mode", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK]
)
def test_what_is_no_file(mode: int) -> None:
    assert rule_of(zip_entries((with_mode("link", mode | 0o777), b"/etc/passwd"))) == "entry"


def test_encrypted_files_and_rare_compressions() -> None:
    data = zip_of({"a": "x"})
    locked = patched(patched(data, b"PK\x01\x02", 8, b"\1\0"), b"PK\x03\x04", 6, b"\1\0")
    assert rule_of(locked) == "entry"
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        assert rule_of(zip_entries(("a", b"x"), method=method)) == "entry"


@pytest.mark.parametrize("names", [("a", "a"), ("a", "a/b"), ("a/b", "a"), ("a/b", "a/b/c")])
def test_names_that_stand_twice(names: tuple[str, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = zip_entries(*((name, b"x") for name in names))
    assert rule_of(data) == "duplicate"


def test_long_names_in_deep_folders_take_little_memory() -> None:
    parts = ["folder-of-a-long-name"] * (MAX_PARTS - 2)
    names = ["/".join([str(number), *parts, "a"]) for number in range(5_000)]
    tracemalloc.start()
    assert find_twice(names) is None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * sum(map(len, names))


def test_a_folder_may_stand_before_and_after_its_files() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = zip_entries(("a/", b""), ("a/b", b"x"), ("a/", b""))
    assert inspect(io.BytesIO(data)).file_count == 1


@pytest.mark.parametrize("data", [b"", b"PK", b"no zip at all" * 10, b"PK\x05\x06" + b"\0" * 18])
def test_what_is_no_zip_or_holds_nothing(data: bytes) -> None:
    assert rule_of(data) in ("zip", "empty")


def test_only_folders_is_nothing() -> None:
    assert rule_of(zip_entries(("a/", b""))) == "empty"


def test_more_files_than_are_taken_are_refused_before_they_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archive, "MAX_ENTRIES", 10)
    data = zip_of({f"{n}": "" for n in range(11)})
    monkeypatch.setattr(zipfile, "ZipFile", None)
    assert rule_of(data) == "entries"


def test_a_directory_that_is_declared_small_and_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    data = zip_of({f"{n}": "" for n in range(11)})
    few = struct.pack("<2H", 1, 1)
    monkeypatch.setattr(archive, "MAX_ENTRIES", 10)
    assert rule_of(patched(data, b"PK\x05\x06", 8, few)) == "entries"


def test_a_zip64_directory_is_not_followed() -> None:
    data = zip_of({"a": "x"})
    at = data.index(b"PK\x05\x06")
    assert rule_of(data[:at] + b"PK\x06\x07" + b"\0" * 16 + data[at:]) == "zip"


def test_a_zip_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_BYTES", 50)
    assert rule_of(zip_of({"a": "x"})) == "size"


def test_a_bomb_by_its_ratio_and_by_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zip_of({"zeros": b"\0" * 30_000_000})
    assert rule_of(bomb) == "ratio"
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 1_000_000)
    assert rule_of(bomb) == "unpacked_size"


def test_a_bomb_that_declares_a_small_size_is_not_unpacked_to_its_end() -> None:
    data = zip_of({"zeros": b"\0" * 200_000_000})
    small = struct.pack("<L", 1_000)
    data = patched(patched(data, b"PK\x01\x02", 24, small), b"PK\x03\x04", 22, small)
    with processor_under(0.2):
        assert rule_of(data) == "damaged"


def test_a_bomb_whose_files_share_their_bytes() -> None:
    data = zip_of({"a": "x" * 1_000, "b": "x" * 1_000})
    second = data.rindex(b"PK\x01\x02")
    shared = data[: second + 42] + b"\0\0\0\0" + data[second + 46 :]
    assert rule_of(shared) == "overlap"


def test_a_file_that_reaches_into_the_next() -> None:
    data = zip_entries(("a", b"x"), ("b", b"y" * 100), method=zipfile.ZIP_STORED)
    longer = struct.pack("<2L", 60, 60)
    assert rule_of(patched(data, b"PK\x01\x02", 20, longer)) == "overlap"


def test_two_names_for_one_file() -> None:
    assert rule_of(patched(zip_of({"aa": "x"}), b"PK\x03\x04", 30, b"bb")) == "entry"


def test_damaged_bytes() -> None:
    data = zip_entries(("a", b"content"), method=zipfile.ZIP_STORED)
    assert rule_of(data.replace(b"content", b"contemt")) == "damaged"
    packed = zip_of({"a": "some text, some text"})
    assert rule_of(patched(packed, b"PK\x03\x04", 31, b"\xff\xff\xff")) == "damaged"


def test_bytes_behind_the_end_of_a_files_data() -> None:
    content = zlib.compress(b"x" * 100, wbits=-15)
    data = zip_of({"a": "x" * 100})
    hidden = data.replace(content, content + b"hidden")
    size = struct.pack("<L", len(content) + 6)
    hidden = patched(patched(hidden, b"PK\x01\x02", 20, size), b"PK\x03\x04", 18, size)
    end = hidden.index(b"PK\x05\x06") + 16
    start = struct.unpack_from("<L", hidden, end)[0] + 6
    assert rule_of(hidden[:end] + struct.pack("<L", start) + hidden[end + 4 :]) == "damaged"


@given(st.binary(max_size=400))
def test_any_bytes_are_refused_or_taken(data: bytes) -> None:
    for each in (data, zip_of({"a": "x"})[:40] + data, data + zip_of({"a": "x"})):
        with suppress(Invalid):
            assert inspect(io.BytesIO(each)).file_count > 0


@given(st.data())
def test_any_change_of_a_zip_is_refused_or_taken(data: st.DataObject) -> None:
    whole = bytearray(zip_of({"a/b.py": "text" * 50, "c": ""}))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place] = data.draw(st.integers(0, 255))
    with suppress(Invalid):
        assert inspect(io.BytesIO(bytes(whole))).unpacked_bytes <= archive.MAX_UNPACKED_BYTES
