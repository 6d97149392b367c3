"""Names and passwords. The slow part, the hash, is done outside of any session."""

from datetime import datetime

from app.audit.actions import Action
from app.audit.service import Target, record
from app.clock import utcnow
from app.db import Database
from app.errors import Invalid, NotSignedIn, Problem
from app.models import AuditOutcome, SignInFailure, User
from app.users import repository
from app.users.devices import Device
from app.users.passwords import POOL, PasswordPool, Verdict
from app.users.rules import clean_name, password_problem
from app.users.service import people, throttle
from app.users.service.sessions import create_session, end_session

_WRONG = "this name and password do not belong together"


async def sign_in_with_password(
    database: Database,
    name: str,
    password: str,
    *,
    device: Device,
    session_days: int = 30,
    earlier: str = "",
    now: datetime | None = None,
    pool: PasswordPool = POOL,
) -> tuple[User, str]:
    """The user, and the secret of a new session; `earlier`, the browser's old one, ends.

    Raises `NotSignedIn`, the same for an unknown name, a disabled user and a wrong password, and
    after the same time; `TooMany` after too many wrong ones, or when too many come at once.
    """
    at, cleaned = now or utcnow(), clean_name(name)
    user, verdict, attempt = await _look(database, cleaned, password, device, at, pool)
    async with database.write() as session:
        # Looked up again: it may have been disabled, or its password changed, meanwhile.
        fresh = await repository.find_user_named(session, cleaned)
        if user and fresh and verdict.is_right and _is_same(user, fresh):
            await repository.delete_failure(session, attempt)
            fresh.password_hash = verdict.new_hash or fresh.password_hash
            if earlier:
                await end_session(session, earlier, at, device=device)
            secret = await create_session(
                session, fresh, by="password", device=device, session_days=session_days, now=at
            )
            return fresh, secret
        target = Target("user", user.name if user else "")
        actor = device.nobody()
        details = {"reason": "wrong password" if user else "unknown name"}
        outcome = AuditOutcome.DENIED
        record(session, actor, Action.SIGN_IN, target, outcome=outcome, details=details)
    raise NotSignedIn(_WRONG)


async def change_password(
    database: Database,
    user: User,
    *,
    present: str,
    new: str,
    device: Device,
    session_days: int = 30,
    now: datetime | None = None,
    pool: PasswordPool = POOL,
) -> str:
    """Sets one's own password and ends all sessions; returns the secret of a new one.

    Somebody who has a password shows it first. Raises `Invalid` with a problem of the field
    `present` or `password`, or `TooMany`.
    """
    at = now or utcnow()
    problem = password_problem(new, user.name)
    if problem:
        raise Invalid("this password cannot be taken", [problem])
    if user.password_hash is not None:
        _, verdict, attempt = await _look(database, user.name, present, device, at, pool)
        if not verdict.is_right:
            await _refuse_change(database, user, device)
        await throttle.take_back(database, attempt)
    with pool.slot() as slot:
        hashed = await slot.hash(new)
    async with database.write() as session:
        fresh = await people.get_user(session, user.id)
        if not _is_same(user, fresh):
            raise NotSignedIn("your account was changed meanwhile: sign in again")
        await people.set_password(session, fresh, hashed, actor=device.actor(fresh), now=at)
        return await create_session(
            session, fresh, by="new password", device=device, session_days=session_days, now=at
        )


async def _look(
    database: Database,
    name: str,
    password: str,
    device: Device,
    now: datetime,
    pool: PasswordPool,
) -> tuple[User | None, Verdict, SignInFailure]:
    attempt = throttle.Attempt.of(name, device.origin.address)
    throttle.refuse_if_remembered(database, attempt, now)
    with pool.slot() as slot:
        async with database.read() as session:
            await throttle.refuse_if_many(database, session, attempt, now)
            user = await repository.find_user_named(session, name)
        row = await throttle.count(database, attempt, now)
        verdict = await slot.verify(user.password_hash if user else None, password)
    return user, verdict, row


async def _refuse_change(database: Database, user: User, device: Device) -> None:
    async with database.write() as session:
        record(
            session,
            device.actor(user),
            Action.PASSWORD_SET,
            Target("user", user.name),
            outcome=AuditOutcome.DENIED,
            details={"reason": "wrong present password"},
        )
    message = "this is not your present password"
    raise Invalid(message, [Problem("present", "wrong", message)])


def _is_same(seen: User, fresh: User) -> bool:
    return fresh.password_hash == seen.password_hash and fresh.disabled_at is None
