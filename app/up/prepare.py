"""Brings the database up to date, in a process of its own.

The supervisor lives as long as the service, and would otherwise keep all of this in memory.
Prints, as JSON, whether the embedded cluster is started and why, and the secret of the first
administrator's sign-in link if one is needed.
"""

import asyncio
import json
import sys
from dataclasses import asdict, dataclass

from app.clusters.embedded_policy import Decision, decide
from app.clusters.service import decide_embedded
from app.db import Database
from app.errors import StartError
from app.schema import migrate
from app.secrets.startup import require_keys
from app.settings import Settings, load_settings
from app.users.service import create_sign_in_link, list_users


@dataclass(frozen=True, slots=True)
class Prepared:
    """`link_secret`: of the first administrator's sign-in link, None if there is one already."""

    embedded: Decision
    link_secret: str | None


async def prepare(settings: Settings) -> Prepared:
    """Migrates, makes what a first start needs, decides on the embedded cluster.

    Raises `StartError`.
    """
    await migrate(settings.url)
    database = Database(settings.url)
    try:
        async with database.write() as session:
            await require_keys(session, settings.secret_keys, makes=True)
            people = [user for user in await list_users(session) if user.disabled_at is None]
            decision = decide(
                settings.embedded_cluster,
                is_postgres=settings.is_postgres,
                people_count=len(people),
            )
            await decide_embedded(session, decision)
            return Prepared(decision, await create_sign_in_link(session))
    finally:
        await database.close()


def main() -> int:
    """What the exit status says is said on stderr too."""
    try:
        prepared = asyncio.run(prepare(load_settings()))
    except StartError as error:
        sys.stderr.write(error.message)
        return 1
    json.dump(asdict(prepared), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
