"""`skydeck code upload`: a folder or a zip, and its reference alone on stdout."""

import json
from pathlib import Path

from tests.cli.conftest import Skydeck


def test_a_folder_is_uploaded_once(skydeck: Skydeck, server: str, tmp_path: Path) -> None:
    code = tmp_path / "my code"
    code.mkdir()
    (code / "train.py").write_text("print(1)\n")
    (code / "big.ckpt").write_text("x")
    first = skydeck("code", "upload", str(code), "--exclude", "*.ckpt")
    assert (first.status, first.out[:7], len(first.out)) == (0, "upload:", 72)
    assert first.err.startswith("1 files, ")
    again = json.loads(skydeck("code", "upload", str(code), "--exclude=*.ckpt", "--json").out)
    assert again["reference"] == first.out.strip()
    assert again["name"] == "my code"
    assert again["root_names"] == ["train.py"]


def test_what_cannot_be_is_said_in_a_line(skydeck: Skydeck, server: str, tmp_path: Path) -> None:
    (tmp_path / "no.zip").write_text("no zip")
    for arguments, said in (
        ([str(tmp_path / "nothing")], "No such file"),
        ([str(tmp_path / "no.zip")], "no zip"),
        ([str(tmp_path / "no.zip"), "--exclude", "x"], "sent as it is"),
        ([str(tmp_path), "--exclude", "!"], "pattern"),
        ([str(tmp_path / "no.zip"), "--project", "nowhere"], "no project nowhere"),
    ):
        answer = skydeck("code", "upload", *arguments)
        assert answer.status == 1, arguments
        assert said in answer.err
        assert len(answer.err.splitlines()) == 1
