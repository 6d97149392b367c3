"""The allow-list as the gate asks for it: read from the database, a moment old at most."""

import asyncio
import logging
from collections.abc import Sequence

from sqlalchemy.exc import SQLAlchemyError

from app.db import Database
from app.outgoing import repository
from app.outgoing.errors import AllowListUnreadable, BadAddress
from app.outgoing.rule_text import parse_rule
from app.outgoing.rules import HostRule

CACHE_SECONDS = 2.0
_logger = logging.getLogger(__name__)


class AllowList:
    """One for each process is enough; a change elsewhere is seen within `seconds`."""

    def __init__(self, database: Database, seconds: float = CACHE_SECONDS) -> None:
        self._database = database
        self._seconds = seconds
        self._rules: Sequence[HostRule] = ()
        self._good_until = 0.0
        self._reading = asyncio.Lock()

    async def __call__(self) -> Sequence[HostRule]:
        """Raises `AllowListUnreadable`: an old list might hold what was taken away since."""
        clock = asyncio.get_running_loop().time
        async with self._reading:
            if clock() >= self._good_until:
                self._rules = await self._read()
                self._good_until = clock() + self._seconds
            return self._rules

    async def _read(self) -> list[HostRule]:
        try:
            async with self._database.read() as session:
                texts = await repository.list_texts(session)
        except (SQLAlchemyError, OSError) as error:
            raise AllowListUnreadable from error
        return [rule for text in texts if (rule := _rule(text)) is not None]


def _rule(text: str) -> HostRule | None:
    try:
        return parse_rule(text)
    except BadAddress as error:
        # Written by another version, or past us: it allows nothing, and stops nothing.
        _logger.warning("outgoing host %r is not understood: %s", text, error.message)
        return None
