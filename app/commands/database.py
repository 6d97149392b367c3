"""The database as the commands want it: there, and up to date."""

import asyncio
from pathlib import Path

from sqlalchemy.engine import make_url

from app.errors import StartError
from app.schema import require_current


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
