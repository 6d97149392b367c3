"""What must hold of the key file before a process starts. No key is made where one is missing."""

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import StartError
from app.secrets import crypto, repository
from app.secrets.vault import RETIRED

_HINT = (
    "put it back from its copy, or name its place in SKYDECK_SECRET_KEYS_FILE; nothing was changed"
)
_NAMED = 20


async def require_keys(session: AsyncSession, file: Path, *, makes: bool) -> str:
    """Checks that every secret can be read; returns that in words for people.

    With `makes`, a first key is made where there is neither file nor secret. Raises `StartError`.
    """
    used = await repository.count_by_key(session)
    count = sum(used.values())
    secrets = f"{count} secret{'' if count == 1 else 's'}"
    try:
        known = [crypto.key_id(key) for key in crypto.read_keys(file)]
    except FileNotFoundError:
        if count:
            raise StartError(
                f"the key file {file} is missing, and the database holds {secrets}: {_HINT}. "
                f"{await _give_up(session, [])}"
            ) from None
        if not makes:
            return f"no key file yet at {file}, and no secrets"
        crypto.make_file(file)
        return f"made {file}"
    missing = sorted(used.keys() - set(known))
    if missing:
        lost = sum(used[key] for key in missing)
        raise StartError(
            f"the key file {file} lacks key {', '.join(missing)}, under which {lost} of {secrets} "
            f"are encrypted: {_HINT}. {await _give_up(session, known)}"
        )
    old = sum(number for key, number in used.items() if key != known[0])
    rest = f", {old} under an older key: `skydeck secret rotate` goes on" if old else ""
    return f"{len(known)} key{'' if len(known) == 1 else 's'}, {secrets}{rest}"


async def _give_up(session: AsyncSession, known: Sequence[str]) -> str:
    """The commands that delete what cannot be read, so that a start is possible without it."""
    rows = await repository.list_lost(session, known, limit=_NAMED + 1)
    commands = dict.fromkeys(
        f"`skydeck secret delete {name.partition(RETIRED)[0]} "
        f"{'--site' if slug is None else f'--project {slug}'}`"
        for name, slug in rows[:_NAMED]
    )
    more = " and so on" if len(rows) > _NAMED else ""
    return f"Or give up what is lost: {', '.join(commands)}{more}"
