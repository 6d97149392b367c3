"""What is checked before anything starts."""

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from app.errors import StartError
from app.up.checks import LOCK_NAME, listen, locked, make_home, write_privately


def test_a_home_is_made_and_left_empty(tmp_path: Path) -> None:
    home = tmp_path / "a" / "b"
    make_home(home)
    assert list(home.iterdir()) == []


def test_a_new_home_is_for_its_user_alone_and_an_old_one_stays_as_it_is(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    old.chmod(0o750)
    for home in (old, old / "new"):
        make_home(home)
    assert [stat.S_IMODE(home.stat().st_mode) for home in (old, old / "new")] == [0o750, 0o700]


def test_what_is_written_is_for_its_user_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_privately()
        (tmp_path / "file").touch()
        (tmp_path / "folder").mkdir()
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("file", "folder")]
    assert modes == [0o600, 0o700]


def test_a_home_that_cannot_be_made_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StartError, match=r"file/home cannot be written \(Not a directory\)"):
        make_home(tmp_path / "file" / "home")


def test_a_full_disk_is_called_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(_file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(StartError, match="is full"):
        make_home(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_one_home_is_for_one_process(tmp_path: Path) -> None:
    said = r"already runs on .* \(process \d+\)"
    with locked(tmp_path), pytest.raises(StartError, match=said), locked(tmp_path):
        raise AssertionError
    with locked(tmp_path):
        pass


def test_the_lock_names_its_process_while_it_is_held(tmp_path: Path) -> None:
    file = tmp_path / LOCK_NAME
    with suppress(ValueError), locked(tmp_path):
        assert file.read_text() == str(os.getpid())
        raise ValueError
    assert file.read_text() == ""


def test_port_zero_takes_a_free_one_and_a_taken_one_is_refused() -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(StartError, match=f"port {port} on 127.0.0.1 is taken"):
            listen("127.0.0.1", port)
        socket.create_connection(("127.0.0.1", port)).close()


def test_a_host_that_is_not_ours_is_refused() -> None:
    with pytest.raises(StartError, match=r"cannot listen on 192\.0\.2\.1:0"):
        listen("192.0.2.1", 0)


def test_the_socket_names_its_protocol_or_asyncio_would_hold_small_answers_back() -> None:
    with listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
