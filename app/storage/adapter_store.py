"""Where adapters are kept: a folder, or an object store, behind the same few steps.

Whoever serves adapters takes a name without `adapter_config.json` for absent, and remembers by name
what it has loaded. So a name is claimed once and for ever, the weights come first, the config comes
last, and nothing that is there is ever written over. Each step may be repeated after a kill at any
instruction: it then finds what it did before, and goes on.

An object store fits: a claim and a file are conditional puts (`If-None-Match: *`), sizes and
SHA-256 are those of the object, and a multipart upload that was never completed is not there.

    StorageError
    ├── NameTaken       another claim, or files that no claim of ours has put there
    ├── SourceChanged   what is copied is not what was looked at
    ├── StorageFull     no room; goes on once there is
    └── (itself)        the destination does not take or give files right now
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, Protocol


class StorageError(Exception):
    """The destination does not do what it is asked; the message is for people."""


class NameTaken(StorageError):
    """The name belongs to something else. Nothing was changed."""


class SourceChanged(StorageError):
    """The bytes that came are not those announced. Nothing of them is visible."""


class StorageFull(StorageError):
    """There is no room. Nothing is visible that was not there before."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A file as it must arrive: its size in bytes and its SHA-256 in hexadecimal."""

    name: str
    size: int
    sha256: str


Progress = Callable[[int], None]
"""Told how many bytes of a file have arrived so far."""


class AdapterStore(Protocol):
    """One destination. All calls block; each may be repeated."""

    def claim(self, name: str, owner: str) -> None:
        """Takes the name for `owner`, for ever. Taken by the same owner already: does nothing.

        Of two owners at once exactly one gets it. Raises `NameTaken` for the other.
        """
        ...

    def has(self, name: str, file: FileFacts) -> bool:
        """Whether exactly this file is there, by size and SHA-256 of what is stored."""
        ...

    def put(self, name: str, file: FileFacts, source: BinaryIO, *, progress: Progress) -> None:
        """Stores a file of a claimed name: whole, checked, and only then visible.

        The same file again: does nothing. Another one there: raises `NameTaken`. Raises
        `SourceChanged`, `StorageFull`.
        """
        ...

    def tidy(self, name: str) -> None:
        """Removes what interrupted tries have left of a claimed name: parts that nobody sees."""
        ...

    def remove(self, name: str, owner: str) -> None:
        """Moves all of a name aside; it stays claimed.

        Gone already, or another owner's: does nothing.
        """
        ...
