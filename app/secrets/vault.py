"""Opens and seals secrets, and remembers what it opened so that it is masked from then on."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncSession

from app.db import Database
from app.errors import Unavailable
from app.models import Secret
from app.observability.masking import remember
from app.secrets.crypto import KeyMissing, KeyRing, Sealed
from app.secrets.masking import Masker

_INFO = "vault"
_MASKERS_KEPT = 32
RETIRED = "~"
"""In the name of a row whose value is only kept so that it can be masked."""


class Vault:
    """The secrets of one database, with the keys of one file."""

    def __init__(self, file: Path) -> None:
        self.keys = KeyRing(file)
        self._lock = threading.Lock()
        self._maskers: OrderedDict[bytes, Masker] = OrderedDict()

    def seal(self, slug: str, name: str, value: str) -> Sealed:
        """Encrypts a value for the row `slug` and no other. Raises `KeyMissing`."""
        remember(name, value)
        return self.keys.seal(f"{slug}\0{value}")

    def open(self, row: Secret) -> str:
        """The value of a row. Raises `KeyMissing`, also for a text that is another row's."""
        text = self.keys.open(Sealed(row.ciphertext, row.key_id))
        slug, _, value = text.partition("\0")
        if slug != row.slug:
            raise KeyMissing(f"secret {row.slug} holds the text of another one: set it anew")
        remember(shown_name(row), value)
        return value

    def masker(self, rows: Sequence[Secret], also: Sequence[tuple[str, str]] = ()) -> Masker:
        """A masker of all rows and of other (name, value), made once for the same ones.

        Raises `KeyMissing`.
        """
        parts = [*(row.ciphertext for row in rows), *(value for _, value in also)]
        digest = hashlib.sha256("\n".join(parts).encode()).digest()
        found = self._maskers.get(digest)
        if found is None:
            # A row that is only kept for masking must not take another one's name in a mark.
            current_first = sorted(rows, key=lambda row: RETIRED in row.name)
            found = Masker([*((shown_name(row), self.open(row)) for row in current_first), *also])
        # Long values are made ready in threads.
        with self._lock:
            self._maskers[digest] = found
            self._maskers.move_to_end(digest)
            if len(self._maskers) > _MASKERS_KEPT:
                self._maskers.popitem(last=False)
        return found


def attach(database: Database, file: Path) -> None:
    """From now on sessions of this database find their vault by `vault_of`."""
    database.info[_INFO] = Vault(file)


def find_vault(session: AsyncSession) -> Vault | None:
    """None where the process was started without one."""
    found: Vault | None = session.info.get(_INFO)
    return found


def vault_of(session: AsyncSession) -> Vault:
    """Raises `Unavailable` where the process was started without one."""
    found = find_vault(session)
    if found is None:
        raise Unavailable("this process was started without a key file, so it reads no secrets")
    return found


def shown_name(row: Secret) -> str:
    return row.name.partition(RETIRED)[0]
