"""Tokens of attempts: by them a job logs to its run, as that attempt, and does nothing else.

An attempt's token is made in the transaction that makes the attempt, and holds until that ends.
Its secret is not random but derived from a key of the key file and the attempt's id. So only its
hash is stored, and yet any worker that submits the job, again after a kill or in another's place,
hands out the same one, and whoever stores the job's log knows what to mask there.
"""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.permissions import Scope
from app.access.principal import Actor
from app.ids import hashed
from app.models import ApiToken, Attempt, Run
from app.secrets import service as secrets
from app.users.repository import tokens as repository
from app.users.service.records import HOST
from app.users.service.tokens import TOKEN_PREFIX, create_token

__all__ = ["create_run_token", "find_run_token", "forget_run_tokens", "run_tokens_of"]


async def create_run_token(
    session: AsyncSession,
    run: Run,
    attempt: int,
    *,
    attempt_id: UUID | None = None,
    actor: Actor = HOST,
) -> tuple[ApiToken, str]:
    """A token that holds while the attempt of that number is under way.

    With its `attempt_id`, and a key file to derive it by, it can be found again: `find_run_token`.
    """
    derived = _derive(session, attempt_id) if attempt_id else []
    token, secret = await create_token(
        session,
        name=f"{run.slug} attempt {attempt}",
        scope=Scope.WRITE,
        project_id=run.project_id,
        actor=actor,
        secret=derived[0] if derived else None,
    )
    token.run_id, token.attempt_number = run.id, attempt
    await session.flush()
    return token, secret


async def find_run_token(session: AsyncSession, attempt: Attempt) -> str | None:
    """The secret of an attempt's token; None if it has none, or its key is gone."""
    stored = await repository.hashes_of_attempt(session, attempt.run_id, attempt.number)
    found = run_tokens_of(session, attempt.id)
    return next((secret for secret in found if hashed(secret) in stored), None)


def run_tokens_of(session: AsyncSession, attempt_id: UUID) -> list[str]:
    """All that the token of this attempt can be: one by each key of the key file."""
    return [TOKEN_PREFIX + derived for derived in _derive(session, attempt_id)]


async def forget_run_tokens(session: AsyncSession, run_id: UUID) -> None:
    """Removes the tokens of all attempts of a run that has ended: they open nothing any more."""
    await repository.delete_tokens_of_run(session, run_id)


def _derive(session: AsyncSession, attempt_id: UUID) -> list[str]:
    return secrets.derive(session, f"token of attempt {attempt_id}")
