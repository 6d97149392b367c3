"""The database as the commands want it: there, and up to date."""

import asyncio
from pathlib import Path

from sqlalchemy.engine import make_url

from app.db import Database
from app.errors import StartError
from app.schema import require_current
from app.secrets.startup import require_keys
from app.settings import Settings


def require_database(url: str) -> None:
    """Raises `StartError` unless there is a database at this version's revision.

    Looks for SQLite's file first: opening would make an empty one, or fail in a thread.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite" and not Path(parsed.database or "").is_file():
        raise StartError(
            f"there is no database at {parsed.database}: "
            "run `skydeck migrate` or `skydeck up` first"
        )
    asyncio.run(require_current(url))


def require_secret_keys(settings: Settings, *, makes: bool = True) -> str:
    """Says how many keys and secrets there are; a first key is made where there is neither.

    Raises `StartError` if a secret cannot be read with the keys of the file.
    """

    async def look() -> str:
        database = Database(settings.url)
        try:
            async with database.read() as session:
                return await require_keys(session, settings.secret_keys, makes=makes)
        finally:
            await database.close()

    return asyncio.run(look())
