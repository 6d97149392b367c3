"""Puts all secrets under a new key, in small steps that may be broken off and repeated anywhere.

First the key is in the file, then rows are encrypted with it: whoever runs meanwhile finds the key
of each row there. Old keys go only when asked for, and only when no row needs them.
"""

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.db import Database
from app.errors import Conflict
from app.secrets import crypto, repository
from app.secrets.vault import vault_of

BATCH = 50


@dataclass(frozen=True, slots=True)
class Rotation:
    """`is_resumed`: an earlier one had not come to its end, so no further key was made."""

    key_id: str
    changed_count: int
    is_resumed: bool


async def rotate(database: Database, file: Path, *, actor: Actor, batch: int = BATCH) -> Rotation:
    """Adds a key and encrypts all secrets with it. Raises `StartError`, `KeyMissing`.

    If secrets are under older keys already, that is finished first, and no key is added.
    """
    newest = crypto.key_id(crypto.read_keys(file)[0])
    async with database.read() as session:
        used = await repository.count_by_key(session)
    is_resumed = bool(used.keys() - {newest})
    if not is_resumed:
        newest = crypto.add_key(file)
    changed = await _encrypt_all(database, newest, batch)
    async with database.write() as session:
        details = {"key": newest, "secrets": changed}
        target = Target("secret", "all")
        audit.record(session, actor, Action.SECRET_ROTATE, target, details=details)
    return Rotation(newest, changed, is_resumed)


async def forget_old(database: Database, file: Path, *, actor: Actor) -> list[str]:
    """Takes all keys but the newest out of the file; returns their ids.

    Raises `Conflict` while a secret is encrypted with one of them; nothing is changed then.
    """
    newest, *old = [crypto.key_id(key) for key in crypto.read_keys(file)]
    if not old:
        return []
    await _refuse_if_used(database, newest)
    kept = crypto.read_keys(file)
    crypto.drop_keys(file, old)
    try:
        # Somebody who read the file before may have stored a secret since.
        await _refuse_if_used(database, newest)
    except Conflict:
        crypto.restore_keys(file, kept)
        raise
    async with database.write() as session:
        details = {"forgotten": old}
        target = Target("secret", "all")
        audit.record(session, actor, Action.SECRET_ROTATE, target, details=details)
    return old


async def _encrypt_all(database: Database, key_id: str, batch: int) -> int:
    changed, after = 0, None
    while True:
        done, after = await _encrypt_some(database, key_id, after, batch)
        changed += done
        if after is None:
            return changed


async def _encrypt_some(
    database: Database, key_id: str, after: UUID | None, limit: int
) -> tuple[int, UUID | None]:
    """How many rows were changed, and the last one looked at; None at the end."""
    async with database.write() as session:
        vault = vault_of(session)
        rows = await repository.list_under_other_keys(session, key_id, after=after, limit=limit)
        done = 0
        for row in rows:
            sealed = vault.seal(row.slug, row.name, vault.open(row))
            done += await repository.replace_text(
                session, row, ciphertext=sealed.ciphertext, key_id=sealed.key_id
            )
        return done, rows[-1].id if len(rows) == limit else None


async def _refuse_if_used(database: Database, newest: str) -> None:
    async with database.read() as session:
        used = await repository.count_by_key(session)
    count = sum(number for key, number in used.items() if key != newest)
    if count:
        raise Conflict(
            f"{count} secrets are encrypted with an older key, which is kept: "
            "`skydeck secret rotate` first"
        )
