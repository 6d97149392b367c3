"""The keys that secrets are encrypted with: a file outside the database, newest key first.

A line a key (32 bytes in URL-safe base64, as Fernet wants them); `#` begins a comment. A key's id
is the head of its SHA-256. Fernet (AES-128-CBC and HMAC-SHA256) is `cryptography`'s.
"""

import base64
import fcntl
import hashlib
import hmac
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.errors import SkydeckError, StartError

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

ID_LENGTH = 16
_KEY_BYTES = 32
_logger = logging.getLogger(__name__)
_FOR_PEOPLE = (
    "the service's key file is missing a key; an administrator finds the details in the service's "
    "log"
)
_OTHERS = 0o077
_COMMENT = """\
# Keys that Skydeck's secrets are encrypted with, newest first. Without this file they are lost:
# keep a copy apart from the database's. `skydeck secret rotate` adds a key.
"""


class KeyMissing(SkydeckError):
    """A secret cannot be read: its key is not in the file, or there is no file."""

    code = "secret_key_missing"
    status = 503

    def __init__(self, message: str, *, detail: str = "") -> None:
        super().__init__(message)
        self._detail = detail

    @property
    def operator_message(self) -> str:
        return self._detail or self.message


@dataclass(frozen=True, slots=True)
class Sealed:
    """A Fernet token, and the id of the key that made it."""

    ciphertext: str
    key_id: str


class KeyRing:
    """The keys of one file. The file is read at first use, and again when a key is unknown."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._keys: dict[str, Fernet] = {}
        self._texts: tuple[str, ...] = ()
        self._stamp = 0

    def seal(self, text: str) -> Sealed:
        """Encrypts with the newest key, as the file has it now. Raises `KeyMissing`."""
        self._read()
        key_id, key = next(iter(self._keys.items()))
        return Sealed(key.encrypt(text.encode("utf-8", "surrogatepass")).decode(), key_id)

    def open(self, sealed: Sealed) -> str:
        """Decrypts. Raises `KeyMissing`."""
        if sealed.key_id not in self._keys:
            self._read()
        key = self._keys.get(sealed.key_id)
        if key is None:
            raise missing(
                f"a secret was encrypted with key {sealed.key_id}, which {self.file} does not "
                "have: put that key back into the file, or delete the secret and set it anew"
            )
        # 6 MB of a process, loaded with the first secret.
        from cryptography.fernet import InvalidToken

        try:
            return key.decrypt(sealed.ciphertext).decode("utf-8", "surrogatepass")
        except InvalidToken:
            raise KeyMissing(
                f"a secret in the database is damaged (key {sealed.key_id}): set it anew"
            ) from None

    def derive(self, purpose: str) -> list[str]:
        """43 signs for a purpose, the same at each call: one by each key, the newest first.

        HMAC-SHA256 of it in URL-safe base64; nothing leads from there to the key, or to what
        another purpose gives. Empty without a key file. Raises `KeyMissing` for a damaged one.
        """
        try:
            stamp = self.file.stat().st_mtime_ns
        except OSError:
            return []
        # Asked every second for each job, and a key is added every few months.
        if stamp != self._stamp:
            self._read()
            self._stamp = stamp
        return [_derived(key, purpose) for key in self._texts]

    def ids(self) -> list[str]:
        """Ids of all keys in the file as it is now, newest first. Raises `KeyMissing`."""
        self._read()
        return list(self._keys)

    def has(self, key_id: str) -> bool:
        """Whether the file has the key now; False also where there is no such file."""
        try:
            return key_id in self.ids()
        except KeyMissing:
            return False

    def _read(self) -> None:
        from cryptography.fernet import Fernet

        try:
            self._texts = tuple(read_keys(self.file))
            self._keys = {key_id(key): Fernet(key) for key in self._texts}
        except FileNotFoundError:
            raise missing(
                f"there is no key file {self.file}: put it back from its copy, or name its place "
                "in SKYDECK_SECRET_KEYS_FILE"
            ) from None
        except StartError as error:
            raise missing(error.message) from None


def missing(detail: str) -> KeyMissing:
    """An error that tells people no paths; the service's log has them."""
    _logger.error("secrets cannot be read: %s", detail)
    return KeyMissing(_FOR_PEOPLE, detail=detail)


def key_id(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:ID_LENGTH]


def _derived(key: str, purpose: str) -> str:
    made = hmac.digest(base64.urlsafe_b64decode(key), f"derived\0{purpose}".encode(), "sha256")
    return base64.urlsafe_b64encode(made).rstrip(b"=").decode()


def read_keys(file: Path) -> list[str]:
    """The keys of a file, newest first.

    Raises `FileNotFoundError`, and `StartError` for a file that others may read, that has no key
    or has something else in it.
    """
    try:
        with file.open() as opened:
            mode = os.fstat(opened.fileno()).st_mode
            lines = [line.strip() for line in opened]
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise StartError(f"key file {file} cannot be read: {reason}") from None
    if mode & _OTHERS:
        raise StartError(
            f"key file {file} may be read by others (mode {mode & 0o777:o}): `chmod 600 {file}`"
        )
    keys = [line for line in lines if line and not line.startswith("#")]
    if not keys or not all(_is_key(key) for key in keys):
        what = "holds a line that is no key" if keys else "holds no key"
        raise StartError(f"key file {file} {what}: put it back from its copy")
    return keys


def make_file(file: Path) -> bool:
    """Makes the file with one key, unless it is there. Returns whether it made it.

    Raises `StartError`.
    """
    with _locked(file):
        if file.exists():
            return False
        _write(file, [_make_key()])
        return True


def add_key(file: Path) -> str:
    """Puts a new key on top; returns its id. Raises as `read_keys`, and `StartError`."""
    with _locked(file):
        key = _make_key()
        _write(file, [key, *read_keys(file)])
        return key_id(key)


def drop_keys(file: Path, ids: Sequence[str]) -> None:
    """Takes keys out, the newest never. Raises as `read_keys`, and `StartError`."""
    with _locked(file):
        newest, *others = read_keys(file)
        _write(file, [newest, *(key for key in others if key_id(key) not in ids)])


def restore_keys(file: Path, keys: Sequence[str]) -> None:
    """Puts keys back behind those that are there. Raises as `read_keys`, and `StartError`."""
    with _locked(file):
        there = read_keys(file)
        _write(file, [*there, *(key for key in keys if key not in there)])


def _make_key() -> str:
    from cryptography.fernet import Fernet

    return Fernet.generate_key().decode()


def _is_key(text: str) -> bool:
    """Whether Fernet takes it."""
    try:
        return len(base64.urlsafe_b64decode(text)) == _KEY_BYTES
    except ValueError:
        return False


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """One process at a time changes the file. The lock's own file stays: removing it would race."""
    try:
        place = os.open(file.with_name(f"{file.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StartError(f"key file {file} cannot be written: {error.strerror}") from None
    with os.fdopen(place, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _write(file: Path, keys: Sequence[str]) -> None:
    """All or nothing: a kill leaves the file as it was."""
    draft = file.with_name(f"{file.name}.new")
    try:
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(_COMMENT + "".join(f"{key}\n" for key in keys))
            out.flush()
            os.fsync(out.fileno())
        draft.replace(file)
        _sync(file.parent)
    except OSError as error:
        raise StartError(f"key file {file} cannot be written: {error.strerror}") from None


def _sync(folder: Path) -> None:
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
