"""What `skydeck user` does, in the local database. Passwords are never arguments."""

import getpass
import sys
from collections.abc import Awaitable, Callable, Sequence

from app.commands.connection import service_url
from app.commands.local import host_actor, in_database
from app.db import WriteSession
from app.errors import Invalid, SkydeckError
from app.models import User
from app.settings import Settings
from app.users import service as users
from app.users.passwords import POOL
from app.users.rules import clean_name, password_problem


def make_sign_in_link(settings: Settings, name: str | None, *, url: str | None = None) -> str:
    """The address at which a user signs in once, within 15 minutes; `url` is the service's.

    Without a name, the first administrator; where there is none yet, whoever opens it becomes
    that. Raises `NotFound`, or `StartError` if the database is not up to date.
    """

    async def make(session: WriteSession) -> str:
        if name is None:
            first = await users.create_sign_in_link(session, actor=host_actor())
            if first is not None:
                return first
        return await users.create_link_for(session, name, actor=host_actor())

    return _address(settings, url, "sign-in", in_database(settings.url, make))


def all_users(url: str) -> Sequence[User]:
    """All users in the database at `url`, in the order in which they were made."""
    return in_database(url, users.list_users)


def add_user(settings: Settings, name: str, *, is_admin: bool, url: str | None = None) -> str:
    """Makes an account without a password; the address at which the person sets one.

    That works once, within 24 hours. Raises `Invalid`.
    """

    async def make(session: WriteSession) -> str:
        user = await users.create_user(session, name, is_admin=is_admin, actor=host_actor())
        return await users.create_reset_link(session, user, actor=host_actor())

    return _address(settings, url, "reset", in_database(settings.url, make))


def add_user_with_password(url: str, name: str, *, is_admin: bool) -> None:
    """Makes an account with a password that is asked for. Raises `Invalid`."""
    hashed = _hash(read_password(name), name)

    async def make(session: WriteSession) -> None:
        await users.create_user(
            session, name, is_admin=is_admin, password_hash=hashed, actor=host_actor()
        )

    in_database(url, make)


def set_password(url: str, name: str) -> None:
    """Sets a password that is asked for, and ends all sessions of that user."""
    _with_user(url, name, _nothing)
    hashed = _hash(read_password(name), name)

    async def change(session: WriteSession, user: User) -> None:
        await users.set_password(session, user, hashed, actor=host_actor())

    _with_user(url, name, change)


def set_role(url: str, name: str, *, is_admin: bool) -> None:
    """Raises `NotFound`, or `Conflict` for the last administrator."""

    async def change(session: WriteSession, user: User) -> None:
        await users.set_administrator(session, user, is_admin, actor=host_actor())

    _with_user(url, name, change)


def set_disabled(url: str, name: str, *, is_disabled: bool) -> None:
    """Raises `NotFound`, or `Conflict` for the last administrator."""

    async def change(session: WriteSession, user: User) -> None:
        act = users.disable_user if is_disabled else users.enable_user
        await act(session, user, actor=host_actor())

    _with_user(url, name, change)


def read_password(name: str) -> str:
    """Asked for twice at a terminal, else one line of standard input. Raises `SkydeckError`."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    password = getpass.getpass(f"New password of {name}: ")
    if getpass.getpass("Once more: ") != password:
        raise SkydeckError("the two passwords differ; nothing was changed")
    return password


def _hash(password: str, name: str) -> str:
    problem = password_problem(password, clean_name(name))
    if problem:
        raise Invalid(f"{problem.message}; nothing was changed", [problem])
    return POOL.hash_now(password)


def _with_user(url: str, name: str, act: Callable[[WriteSession, User], Awaitable[None]]) -> None:
    async def run(session: WriteSession) -> None:
        await act(session, await users.get_user_named(session, name))

    in_database(url, run)


async def _nothing(_session: WriteSession, _user: User) -> None:
    """Only looks whether there is such a user."""


def _address(settings: Settings, url: str | None, page: str, secret: str) -> str:
    return f"{(url or service_url(settings)).rstrip('/')}/{page}?token={secret}"
