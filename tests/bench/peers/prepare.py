"""Makes an empty store with a token and a signed-in administrator: `prepare FILE`."""

import asyncio
import json
import sys
from pathlib import Path

from app.access.permissions import Scope
from app.db import Database
from app.schema import migrate
from app.settings import load_settings
from app.users import service as users
from tests.web.seed import sign_in


async def main() -> dict[str, str]:
    """`{token, session}` of a store that is made where there is none."""
    settings = load_settings()
    settings.home.mkdir(parents=True, exist_ok=True)
    await migrate(settings.url)
    database = Database(settings.url)
    session_secret = await sign_in(database)
    async with database.write() as session:
        _, token = await users.create_token(session, name="bench", scope=Scope.ADMIN)
    await database.close()
    return {"token": token, "session": session_secret}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(asyncio.run(main())))
