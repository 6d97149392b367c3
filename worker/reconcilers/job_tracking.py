"""Where a job logs to, and by which token: what its environment says of Skydeck and of MLflow."""

import json
from collections.abc import Collection
from pathlib import Path
from uuid import UUID

from app.access.principal import Actor
from app.db import ReadSession, WriteSession
from app.models import Attempt, ClusterKind, Run
from app.settings import UP_FILE
from app.users import service as users
from worker.reconcilers.moves import ACTOR

TOKEN_NAME = "SKYDECK_RUN_TOKEN"  # noqa: S105 - the name of a variable
URL_NAME = "SKYDECK_PUBLIC_URL"
_OF_MLFLOW = "MLFLOW_TRACKING_"
_BY = Actor(name=ACTOR, key=ACTOR)


class Addresses:
    """By which address jobs reach this Skydeck."""

    def __init__(self, home: Path, public_url: str | None) -> None:
        self._home = home
        self._public_url = public_url

    def of(self, kind: ClusterKind) -> str | None:
        """None where nobody said. The embedded cluster is on this machine: it takes the loopback
        address that `skydeck up` listens on."""
        local = self._local() if kind is ClusterKind.EMBEDDED else None
        return local or self._public_url

    def _local(self) -> str | None:
        try:
            found = json.loads((self._home / UP_FILE).read_text())
            return str(found["url"])
        except (OSError, ValueError, KeyError, TypeError):
            return None


async def give_token(session: WriteSession, run: Run, attempt: Attempt) -> None:
    """Makes the token of a new attempt, where there is a key to find it again by."""
    if users.run_tokens_of(session, attempt.id):
        await users.create_run_token(session, run, attempt.number, attempt_id=attempt.id, actor=_BY)


def masked_values(session: ReadSession, attempt_id: UUID) -> list[tuple[str, str]]:
    """What the attempt's token can be, by the name that stands for it in masked text."""
    return [(TOKEN_NAME, value) for value in users.run_tokens_of(session, attempt_id)]


def environment(url: str | None, token: str | None, *, taken: Collection[str]) -> dict[str, str]:
    """Variables of a job. `taken`: names that its config or its secrets give.

    A job that logs to somebody's own MLflow server is left alone, and our token is not sent there.
    """
    if url is None or token is None:
        return {}
    ours = {URL_NAME: url, TOKEN_NAME: token}
    if any(name.startswith(_OF_MLFLOW) for name in taken):
        return ours
    return ours | {f"{_OF_MLFLOW}URI": url, f"{_OF_MLFLOW}TOKEN": token}
