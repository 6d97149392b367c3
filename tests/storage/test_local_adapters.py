"""A folder of adapters: each name once, each file whole, the same again after any interruption."""

import contextlib
import errno
import hashlib
import io
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from app.storage.adapter_store import (
    FileFacts,
    NameTaken,
    SourceChanged,
    StorageError,
    StorageFull,
)
from app.storage.inside import open_file, open_folder, size_of
from app.storage.local_adapters import LocalAdapterStore

WEIGHTS, CONFIG = b"w" * 3_000_000, b"{}"
NAMES = {"adapter_model.safetensors": WEIGHTS, "adapter_config.json": CONFIG}
CALLS = ("link", "fsync", "open", "mkdir", "rename", "unlink", "close")


class Killed(BaseException):
    """No code of ours catches it, as none runs after a SIGKILL."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "adapters"


def facts(name: str, data: bytes) -> FileFacts:
    return FileFacts(name, len(data), hashlib.sha256(data).hexdigest())


def put_all(root: Path, owner: str = "me", name: str = "mine") -> None:
    store = LocalAdapterStore(root)
    store.claim(name, owner)
    store.tidy(name)
    for file, data in NAMES.items():
        wanted = facts(file, data)
        if not store.has(name, wanted):
            store.put(name, wanted, io.BytesIO(data), progress=lambda _count: None)


def state(root: Path, name: str = "mine") -> str:
    folder = root / name
    if not (folder / "adapter_config.json").exists():
        return "absent"
    found = {file: (folder / file).read_bytes() for file in NAMES}
    return "complete" if found == NAMES else "mixed"


def killed_at(monkeypatch: pytest.MonkeyPatch, number: int, *, is_after: bool) -> list[int]:
    """The process is gone at its `number`th call of the system, before or after that call."""
    left = [number]

    def wrapped(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **given: Any) -> Any:
            left[0] -= 1
            if left[0] < 0 or (left[0] == 0 and not is_after):
                raise Killed
            result = call(*args, **given)
            if left[0] == 0:
                raise Killed
            return result

        return counted

    for name in CALLS:
        monkeypatch.setattr(os, name, wrapped(getattr(os, name)))
    return left


@pytest.mark.parametrize("is_after", [False, True])
def test_a_kill_at_any_call_leaves_nothing_or_all_and_the_repeat_ends_it(
    tmp_path: Path, is_after: bool
) -> None:
    seen = set()
    for number in range(1, 200):
        root = tmp_path / str(number)
        with pytest.MonkeyPatch.context() as patched:
            left = killed_at(patched, number, is_after=is_after)
            with contextlib.suppress(Killed):
                put_all(root)
            is_over = left[0] > 0
        seen.add(state(root))
        put_all(root)
        assert state(root) == "complete", number
        assert sorted(each.name for each in (root / "mine").iterdir()) == sorted(NAMES)
        assert [each.name for each in (root / ".claims").iterdir()] == ["mine"]
        if is_over:
            break
    else:
        raise AssertionError("there is no end of calls")
    assert number > 10
    assert seen == {"absent", "complete"}


def test_of_many_that_want_a_name_at_once_one_gets_it(root: Path) -> None:
    def want(owner: str) -> str:
        try:
            put_all(root, owner)
        except NameTaken:
            return ""
        return owner

    for round_ in range(10):
        with ThreadPoolExecutor(8) as pool:
            base = root / str(round_)
            found = list(pool.map(lambda n, base=base: _claimed(base, str(n)), range(8)))
        assert sum(found) == 1
    assert want("me") == "me"
    assert want("you") == ""


def _claimed(root: Path, owner: str) -> bool:
    try:
        LocalAdapterStore(root).claim("mine", owner)
    except NameTaken:
        return False
    return True


def test_nothing_is_ever_written_over(root: Path) -> None:
    put_all(root)
    store = LocalAdapterStore(root)
    for file, data in NAMES.items():
        other = facts(file, data + b"x")
        with pytest.raises(NameTaken):
            store.put("mine", other, io.BytesIO(data + b"x"), progress=lambda _count: None)
        store.put("mine", facts(file, data), io.BytesIO(b""), progress=lambda _count: None)
    assert state(root) == "complete"


@pytest.mark.parametrize("data", [WEIGHTS[:-1], WEIGHTS + b"x", b"x" * len(WEIGHTS), b""])
def test_other_bytes_than_those_announced_are_not_there(root: Path, data: bytes) -> None:
    store = LocalAdapterStore(root)
    store.claim("mine", "me")
    wanted = facts("adapter_model.safetensors", WEIGHTS)
    with pytest.raises(SourceChanged):
        store.put("mine", wanted, io.BytesIO(data), progress=lambda _count: None)
    assert list((root / "mine").iterdir()) == []


def test_progress_rises_to_the_size(root: Path) -> None:
    store = LocalAdapterStore(root)
    store.claim("mine", "me")
    told: list[int] = []
    wanted = facts("adapter_model.safetensors", WEIGHTS)
    store.put("mine", wanted, io.BytesIO(WEIGHTS), progress=told.append)
    assert told == sorted(told)
    assert told[-1] == len(WEIGHTS)


def test_a_folder_of_somebody_else_is_left_alone(root: Path) -> None:
    (root / "mine").mkdir(parents=True)
    with pytest.raises(NameTaken, match="none of ours"):
        LocalAdapterStore(root).claim("mine", "me")
    assert not (root / ".claims" / "mine").exists()


def test_a_full_disk_and_one_that_cannot_be_written_are_told_apart(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalAdapterStore(root)
    for code, kind in ((errno.ENOSPC, StorageFull), (errno.EIO, StorageError)):

        def fails(*_args: object, code: int = code) -> None:
            raise OSError(code, os.strerror(code))

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fails)
            with pytest.raises(kind, match="mine"):
                store.claim("mine", "me")
    store.claim("mine", "me")


def test_what_is_removed_is_aside_and_its_name_stays_claimed(root: Path) -> None:
    put_all(root)
    store = LocalAdapterStore(root)
    store.remove("mine", "you")
    assert state(root) == "complete"
    store.remove("mine", "me")
    store.remove("mine", "me")
    assert not (root / "mine").exists()
    (aside,) = (root / ".deleted").iterdir()
    assert {each.name for each in aside.iterdir()} == set(NAMES)
    with pytest.raises(NameTaken):
        store.claim("mine", "you")


def test_only_what_lies_below_is_opened(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (below / "file").write_bytes(b"x" * 10)
    (below / "link").symlink_to(below / "file")
    (tmp_path / "way").symlink_to(tmp_path / "a")
    with open_folder(tmp_path, "a/b") as folder:
        with open_file(folder, "file") as file:
            assert file.read() == b"x" * 10
        for name in ("link", "none", "."):
            with pytest.raises(OSError, match=r".+"):
                open_file(folder, name)
        assert size_of(folder) == 10
    for path in ("way/b", "a/b/file", "none"):
        with pytest.raises(OSError, match=r".+"), open_folder(tmp_path, path):
            pass
    for path in ("../x", "/etc", "a/../../x"):
        with pytest.raises(ValueError, match="below"), open_folder(tmp_path, path):
            pass
