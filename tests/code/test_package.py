"""A job's package: the user's code as it was, without what is left out, and the job's files."""

import io
import stat
import zipfile

import pytest

from app.code import package
from app.errors import Conflict, Invalid
from tests.code.test_archive import patched
from tests.code.zips import with_mode, zip_entries, zip_of

FILES = {"train_job.sh": "echo ü\n", "get_code.py": "print(1)\n"}


def built(data: bytes, excludes: list[str] | None = None) -> dict[str, bytes]:
    file = io.BytesIO(data)
    package.build(file, FILES, excludes or [])
    with zipfile.ZipFile(file) as packed:
        assert packed.testzip() is None
        return {name: packed.read(name) for name in packed.namelist()}


def test_code_and_the_jobs_files_lie_side_by_side() -> None:
    found = built(zip_of({"a.py": "x", "lib/b.py": "y" * 1_000}))
    ours = {name: text.encode() for name, text in FILES.items()}
    assert found == {"a.py": b"x", "lib/b.py": b"y" * 1_000} | ours


def test_without_code() -> None:
    assert built(b"") == {name: text.encode() for name, text in FILES.items()}


def test_what_is_left_out() -> None:
    code = {"a.py": "", "a.ckpt": "", "keep.ckpt": "", "data/x/y": "", "lib/data/z": "", "log/": ""}
    found = built(zip_of(code), ["*.ckpt", "!keep.ckpt", "/data/", "log/"])
    assert set(found) - set(FILES) == {"a.py", "keep.ckpt", "lib/data/z"}
    with pytest.raises(Invalid):
        built(zip_of(code), ["!"])


def test_no_pattern_takes_a_file_back_from_a_folder_that_is_left_out() -> None:
    code = {"a.py": "", "data/keep.txt": "", "lib/b.py": "", "lib/c.txt": ""}
    assert set(built(zip_of(code), ["data/", "!data/keep.txt"])) - set(FILES) == {
        "a.py",
        "lib/b.py",
        "lib/c.txt",
    }
    assert set(built(zip_of(code), ["*", "!*.py"])) - set(FILES) == {"a.py"}


@pytest.mark.parametrize("name", ["train_job.sh", "train_job.sh/x"])
def test_a_file_of_the_job_is_not_replaced(name: str) -> None:
    with pytest.raises(Conflict, match=r"train_job\.sh"):
        built(zip_of({name: "evil"}))
    assert built(zip_of({name: "evil"}), ["train_job.sh"])["train_job.sh"] == b"echo \xc3\xbc\n"


def test_names_of_macos_come_out_right() -> None:
    data = zip_of({"übung.py": "x"})
    for signature, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        data = patched(data, signature, offset, b"\0\0")
    assert "übung.py" in built(data)


def test_modes_stay() -> None:
    file = io.BytesIO(zip_entries((with_mode("run.sh", stat.S_IFREG | 0o755), b"true")))
    package.build(file, FILES, [])
    with zipfile.ZipFile(file) as packed:
        assert packed.getinfo("run.sh").external_attr >> 16 == stat.S_IFREG | 0o755


def test_the_same_parts_have_the_same_name_and_bytes() -> None:
    one, other = io.BytesIO(), io.BytesIO()
    package.build(one, FILES, [])
    package.build(other, dict(reversed(FILES.items())), [])
    assert one.getvalue() == other.getvalue()
    names = {
        package.digest(FILES, sha256=None, excludes=[]),
        package.digest(dict(reversed(FILES.items())), sha256=None, excludes=[]),
        package.digest(FILES, sha256="0" * 64, excludes=[]),
        package.digest(FILES, sha256="0" * 64, excludes=["a"]),
        package.digest(FILES | {"a": ""}, sha256=None, excludes=[]),
    }
    assert len(names) == 4
