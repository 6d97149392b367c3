"""A folder is packed as git would see it, and the same each time."""

import io
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from app.code import folder
from app.code.archive import inspect
from app.code.folder import pack
from app.errors import SkydeckError

TREE = {
    ".gitignore": "*.log\n/build/\n!keep.log\ndata/*\n!data/small/\n",
    "train.py": "",
    "a.log": "",
    "keep.log": "",
    "build/x": "",
    "lib/build/x.py": "",
    "data/big.bin": "",
    "data/small/x.csv": "",
    "lib/.gitignore": "!a.log\nsecret*\n",
    "lib/a.log": "",
    "lib/secret.txt": "",
    "lib/deep/secrets/x": "",
    "secret.txt": "",
}


def write(root: Path, tree: dict[str, str]) -> Path:
    for name, text in tree.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def names(data: bytes) -> set[str]:
    inspect(io.BytesIO(data))
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        return set(packed.namelist())


def test_the_files_are_those_that_git_would_take(tmp_path: Path) -> None:
    write(tmp_path, TREE)
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    seen = subprocess.run(
        [*git, "ls-files", "--others", "--exclude-standard"], check=True, capture_output=True
    )
    assert names(pack(tmp_path)) == set(seen.stdout.decode().split())


def test_what_is_excluded_by_hand_stays_out(tmp_path: Path) -> None:
    write(tmp_path, TREE | {"x/__pycache__/y.pyc": ""})
    found = names(pack(tmp_path, ["*.py", "/lib/", "keep.log"]))
    assert found == {".gitignore", "secret.txt", "data/small/x.csv"}


def test_the_same_files_are_the_same_bytes(tmp_path: Path) -> None:
    one, other = write(tmp_path / "a", TREE), write(tmp_path / "b", dict(reversed(TREE.items())))
    os.utime(other / "train.py", (0, 0))
    assert pack(one) == pack(other)
    (other / "train.py").chmod(0o755)
    assert pack(one) != pack(other)


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_no_zip_can_hold_is_named(tmp_path: Path, kind: str) -> None:
    write(tmp_path, {"a.py": ""})
    if kind == "link":
        (tmp_path / "odd").symlink_to("/etc/passwd")
    else:
        os.mkfifo(tmp_path / "odd")
    with pytest.raises(SkydeckError, match=r"^odd is"):
        pack(tmp_path)
    assert names(pack(tmp_path, ["odd"])) == {"a.py"}


def test_too_much_names_the_largest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"small": "x", "large": "x" * 5_000})
    monkeypatch.setattr(folder, "MAX_UNPACKED_BYTES", 1_000)
    with pytest.raises(SkydeckError, match=r"largest files are large \(5,000\), small"):
        pack(tmp_path)
    monkeypatch.setattr(folder, "MAX_ENTRIES", 1)
    with pytest.raises(SkydeckError, match="holds 2 files"):
        pack(tmp_path)


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(SkydeckError, match="no file"):
        pack(tmp_path)
