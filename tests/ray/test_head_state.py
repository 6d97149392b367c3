from dataclasses import replace
from pathlib import Path

import pytest

from app.ray.head_launch import plan
from app.ray.head_state import (
    HeadPhase,
    Member,
    ray_dir,
    read_head_state,
    read_head_token,
    renew_head_token,
    write_head_state,
)


def test_a_state_is_read_as_written(home: Path) -> None:
    written = replace(
        plan(home),
        phase=HeadPhase.READY,
        leader=Member(pid=7, started=1795976279.71),
        members=(Member(pid=7, started=1795976279.71), Member(pid=8, started=1795976280.0)),
        session_name="session_1",
        session_dir=home / "session_1",
    )
    write_head_state(home, written)
    assert read_head_state(home) == written
    write_head_state(home, replace(written, leader=None, session_dir=None))
    assert read_head_state(home) == replace(written, leader=None, session_dir=None)


def test_what_cannot_be_read_is_none(home: Path) -> None:
    (home / "ray").rmdir()
    (home / "ray").touch()
    assert (read_head_state(home), read_head_token(home)) == (None, None)
    (home / "ray").unlink()
    for name in ("head.json", "token"):
        (home / "ray" / name).mkdir(parents=True)
    assert (read_head_state(home), read_head_token(home)) == (None, None)


def test_a_token_that_is_no_text_is_none(home: Path) -> None:
    (home / "ray" / "token").write_bytes(b"\xff\xfe")
    assert read_head_token(home) is None


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"phase": "odd"}', "null"])
def test_a_broken_file_is_no_state(home: Path, content: str) -> None:
    (ray_dir(home) / "head.json").write_text(content)
    assert read_head_state(home) is None


def test_there_is_no_state_and_no_token_before_the_first_start(home: Path) -> None:
    assert read_head_state(home) is None
    assert read_head_token(home) is None


def test_each_start_has_a_new_token_for_its_owner_only(home: Path) -> None:
    first = renew_head_token(home)
    assert read_head_token(home) == first
    assert renew_head_token(home) != first
    assert [file.name for file in ray_dir(home).iterdir()] == ["token"]
    assert (ray_dir(home) / "token").stat().st_mode & 0o777 == 0o600
