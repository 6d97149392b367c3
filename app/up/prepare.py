"""Brings the database up to date, in a process of its own.

The supervisor lives as long as the service, and would otherwise keep all of this in memory.
Prints the secret of the first administrator's sign-in link if one is needed, else nothing.
"""

import asyncio
import sys

from app.clusters.service import ensure_embedded
from app.db import Database
from app.errors import StartError
from app.schema import migrate
from app.settings import load_settings
from app.users.service import create_sign_in_link


async def prepare(url: str) -> str | None:
    """Migrates, makes the embedded cluster's row, and a first sign-in link. Raises `StartError`."""
    await migrate(url)
    database = Database(url)
    try:
        async with database.write() as session:
            await ensure_embedded(session)
            return await create_sign_in_link(session)
    finally:
        await database.close()


def main() -> int:
    """What the exit status says is said on stderr too."""
    try:
        secret = asyncio.run(prepare(load_settings().url))
    except StartError as error:
        sys.stderr.write(error.message)
        return 1
    sys.stdout.write(secret or "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
