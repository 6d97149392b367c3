"""The key file: made once, private, never replaced silently, and read again when it changes."""

import threading
from pathlib import Path

import pytest

from app.errors import StartError
from app.secrets import crypto
from app.secrets.crypto import KeyMissing, KeyRing, Sealed


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "secret.keys"
    crypto.make_file(path)
    return path


def test_what_was_sealed_can_be_opened_and_not_read(file: Path) -> None:
    sealed = KeyRing(file).seal("hf_Zx81kkLmPq")
    assert "Zx81" not in sealed.ciphertext
    assert KeyRing(file).open(sealed) == "hf_Zx81kkLmPq"
    assert sealed.key_id == crypto.key_id(crypto.read_keys(file)[0])


def test_the_file_is_private_and_made_once(file: Path) -> None:
    before = file.read_bytes()
    assert file.stat().st_mode & 0o777 == 0o600
    assert not crypto.make_file(file)
    assert file.read_bytes() == before


def test_of_many_that_make_the_file_at_once_one_does(tmp_path: Path) -> None:
    made: list[bool] = []
    path = tmp_path / "secret.keys"
    threads = [
        threading.Thread(target=lambda: made.append(crypto.make_file(path))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made.count(True) == 1
    assert len(crypto.read_keys(path)) == 1


def test_a_file_that_others_may_read_is_refused(file: Path) -> None:
    file.chmod(0o640)
    with pytest.raises(StartError, match="chmod 600"):
        crypto.read_keys(file)


@pytest.mark.parametrize(("text", "said"), [("", "no key"), ("nonsense\n", "that is no key")])
def test_a_file_without_keys_is_refused(file: Path, text: str, said: str) -> None:
    file.write_text(text)
    with pytest.raises(StartError, match=said):
        crypto.read_keys(file)


def test_a_new_key_is_used_at_once_by_who_runs_already(file: Path) -> None:
    ring = KeyRing(file)
    old = ring.seal("first value")
    added = crypto.add_key(file)
    assert ring.seal("second value").key_id == added
    assert ring.open(old) == "first value"


def test_a_key_that_is_unknown_is_looked_up_in_the_file(file: Path) -> None:
    ring = KeyRing(file)
    ring.seal("first value")
    crypto.add_key(file)
    elsewhere = KeyRing(file).seal("second value")
    assert ring.open(elsewhere) == "second value"


def test_the_newest_key_cannot_be_dropped(file: Path) -> None:
    old = KeyRing(file).seal("first value")
    newest = crypto.add_key(file)
    crypto.drop_keys(file, [old.key_id, newest])
    assert KeyRing(file).ids() == [newest]
    with pytest.raises(KeyMissing, match="an administrator") as caught:
        KeyRing(file).open(old)
    assert old.key_id in caught.value.operator_message
    assert str(file) in caught.value.operator_message
    assert str(file) not in caught.value.message


def test_a_missing_file_and_a_changed_token_are_said(file: Path) -> None:
    sealed = KeyRing(file).seal("first value")
    with pytest.raises(KeyMissing, match="damaged"):
        KeyRing(file).open(Sealed(sealed.ciphertext[:-4] + "AAA=", sealed.key_id))
    file.unlink()
    with pytest.raises(KeyMissing) as caught:
        KeyRing(file).open(sealed)
    assert "SKYDECK_SECRET_KEYS_FILE" in caught.value.operator_message
    assert not file.exists()
