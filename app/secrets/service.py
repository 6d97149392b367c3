"""Secrets of projects and of the site: set, listed without values, used by name, masked.

A config names secrets of its own project under `job.secrets`; those of the site are for what
administrators set up. A value is never given back: only a worker opens it, for a job's
environment, and whoever masks text.
"""

import asyncio
import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.clock import utcnow
from app.errors import Conflict, Invalid, NotFound, Problem
from app.ids import new_id, new_slug
from app.models import Secret
from app.recipes import service as recipes
from app.secrets import repository
from app.secrets.crypto import KeyMissing, missing
from app.secrets.masking import MIN_LENGTH, Masker, forms
from app.secrets.vault import RETIRED, find_vault, vault_of

MAX_NAME = 100
MAX_BYTES = 16_000
MIN_SIGNS = 5
HOLDS_SECRET = "holds_secret"  # noqa: S105 - a rule's name
"""The rule of `Problem`s about texts with a secret's value in them."""
NAME_IT = (
    f"set the secret's name under {recipes.SECRETS}, and read the value from the job's environment"
)
_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
# What a program's start depends on must stay what the cluster gives it.
_TAKEN_HEADS = (
    *("SKYDECK_", "RAY_", "LD_", "DYLD_", "MALLOC_", "NVIDIA_", "NCCL_"),
    *("PYTHON", "BASH_", "PERL5", "RUBY", "GIT_", "OPENSSL_", "SSL_CERT_"),
)
_TAKEN_TAIL = "_PROXY"
_TAKEN = frozenset(
    {
        *("PATH", "HOME", "SHELL", "USER", "PWD", "IFS", "ENV", "TZ", "LANG", "TMPDIR", "HOSTNAME"),
        *("GCONV_PATH", "GLIBC_TUNABLES", "NODE_OPTIONS"),
        *("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"),
    }
)
# Above this, finding all forms of a value takes so long that other requests would notice.
_LONG_BYTES = 1_000
_RETIRED_NAME = 80


@dataclass(frozen=True, slots=True)
class Listed:
    """A secret without its value. `config_count`: configs that name it; None for the site's."""

    name: str
    created_by: str
    created_at: datetime
    changed_at: datetime
    last_used_at: datetime | None
    config_count: int | None


async def list_all(session: AsyncSession, project_id: UUID | None) -> list[Listed]:
    """By name; `project_id` None: those of the site."""
    rows = await repository.list_current(session, project_id)
    used: Counter[str] = Counter()
    if project_id is not None:
        for text, count in await repository.references(session, project_id, recipes.SECRETS):
            used.update(dict.fromkeys(recipes.secret_names({recipes.SECRETS: text}), count))
    return [
        Listed(
            name=row.name,
            created_by=row.created_by,
            created_at=row.created_at,
            changed_at=row.changed_at,
            last_used_at=row.last_used_at,
            config_count=None if project_id is None else used[row.name],
        )
        for row in rows
    ]


async def find(session: AsyncSession, project_id: UUID | None, name: str) -> Secret:
    """Raises `NotFound`."""
    row = await repository.find(session, project_id, name)
    if row is None or RETIRED in row.name:
        raise NotFound(f"there is no secret {name}")
    return row


async def put(
    session: AsyncSession, project_id: UUID | None, name: str, value: str, *, actor: Actor
) -> bool:
    """Sets a secret; returns whether it is new. Raises `Invalid`, `Conflict`, `KeyMissing`."""
    checked_name(name)
    checked_value(value)
    await _refuse_foreign_keys(session)
    before = await repository.find(session, project_id, name)
    now = utcnow()
    row = Secret(
        id=new_id(),
        slug=new_slug("sec"),
        project_id=project_id,
        name=name,
        created_by=before.created_by if before else actor.name,
        created_at=before.created_at if before else now,
        changed_at=now,
    )
    if len(value) > _LONG_BYTES:
        # Kept from here on: the next line of the service's log asks for them.
        await asyncio.to_thread(forms, value)
    sealed = vault_of(session).seal(row.slug, name, value)
    row.ciphertext, row.key_id = sealed.ciphertext, sealed.key_id
    if before is not None:
        await _retire(session, before, now)
    try:
        async with session.begin_nested():
            session.add(row)
    except IntegrityError:
        raise Conflict(f"secret {name} was set by somebody else just now: try again") from None
    action = Action.SECRET_CHANGE if before else Action.SECRET_CREATE
    audit.record(session, actor, action, Target("secret", name, project_id))
    return before is None


async def delete(
    session: AsyncSession, project_id: UUID | None, name: str, *, actor: Actor
) -> None:
    """Raises `NotFound`. Runs that name it fail at their next start, and say so.

    Needs no key. What cannot be read any more cannot be masked either, so it is not kept for that.
    """
    keys = vault_of(session).keys
    kept = await repository.list_retired(session, project_id, f"{name[:_RETIRED_NAME]}{RETIRED}")
    lost = [row for row in kept if not keys.has(row.key_id)]
    for each in lost:
        await repository.remove(session, each)
    current = await repository.find(session, project_id, name)
    if current is not None and not keys.has(current.key_id):
        await repository.remove(session, current)
    elif current is not None or not lost:
        await _retire(session, await find(session, project_id, name), utcnow())
    audit.record(session, actor, Action.SECRET_DELETE, Target("secret", name, project_id))


async def forget_retired(session: AsyncSession) -> None:
    """Removes values that were replaced or deleted, once no job can print them any more."""
    await repository.forget_retired(session)


def derive(session: AsyncSession, purpose: str) -> list[str]:
    """See `KeyRing.derive`; empty also where the process has no key file that can be read."""
    vault = find_vault(session)
    try:
        return [] if vault is None else vault.keys.derive(purpose)
    except KeyMissing:
        return []


async def masker(
    session: AsyncSession,
    project_ids: Sequence[UUID] | None,
    *,
    also: Sequence[tuple[str, str]] = (),
) -> Masker:
    """Masks the secrets of these projects (None: of all) and of the site. Raises `KeyMissing`.

    `also`: other values, with their names.
    """
    rows = await repository.list_known(session, project_ids)
    if not rows and not also:
        return Masker(())
    vault = vault_of(session)
    if any(len(row.ciphertext) > _LONG_BYTES for row in rows):
        return await asyncio.to_thread(vault.masker, rows, also)
    return vault.masker(rows, also)


async def require_known(
    session: AsyncSession, project_id: UUID, names: Sequence[str], *, field: str
) -> None:
    """Raises `Invalid`, with the nearest name, for one that the project does not have."""
    if not names:
        return
    known = [row.name for row in await repository.list_current(session, project_id)]
    problems = [
        Problem(field, "unknown_secret", _unknown(name, known))
        for name in names
        if name not in known
    ]
    if problems:
        raise Invalid(problems[0].message, problems)


async def refuse_values(
    session: AsyncSession, project_ids: Sequence[UUID] | None, texts: Mapping[str, Any]
) -> None:
    """Raises `Invalid` if a text, at any depth, holds the value of a secret of these projects.

    None: of any project. `texts` by the field that is blamed. The message never holds the value.
    """
    problems = await find_values(session, project_ids, texts)
    if problems:
        raise Invalid(problems[0].message, problems)


async def find_values(
    session: AsyncSession, project_ids: Sequence[UUID] | None, texts: Mapping[str, Any]
) -> list[Problem]:
    """What `refuse_values` raises, as a list. Neither messages nor fields hold a value."""
    known = await masker(session, project_ids)
    if not known:
        return []
    found = {(field, known.find(text)) for field, text in _texts(texts)}
    return [
        Problem(
            known.text(field),
            HOLDS_SECRET,
            f"this holds the value of secret {name}: {NAME_IT}",
        )
        for field, name in sorted(found, key=str)
        if name is not None
    ]


async def rows_for_job(
    session: AsyncSession, project_id: UUID, names: Sequence[str]
) -> list[Secret]:
    """The rows of these names, still closed; those that the project does not have are absent."""
    return list(await repository.list_named(session, project_id, names)) if names else []


async def open_site_secret(session: AsyncSession, name: str) -> str:
    """The value of one of the site's secrets, for what a worker signs in with.

    Raises `NotFound`, `KeyMissing`.
    """
    for row in await repository.list_current(session, None):
        if row.name == name:
            return vault_of(session).open(row)
    raise NotFound(f"there is no secret {name} any more: type it again on the cluster's page")


async def open_of_site(session: AsyncSession, name: str) -> str | None:
    """The value of a secret of the site, masked from now on; None if there is none.

    Raises `KeyMissing`.
    """
    rows = await repository.list_named(session, None, [name])
    return vault_of(session).open(rows[0]) if rows else None


async def has_of_site(session: AsyncSession, name: str) -> bool:
    """Whether there is a secret of the site of this name; needs no key."""
    return bool(await repository.list_named(session, None, [name]))


async def note_use(session: AsyncSession, ids: Sequence[UUID], at: datetime) -> None:
    if ids:
        await repository.note_use(session, ids, at)


def checked_name(name: str) -> str:
    """Raises `Invalid` for what no secret may be called."""
    message = ""
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        message = (
            f"a name has capital letters, digits and _, at most {MAX_NAME} of them, such as "
            "HF_TOKEN: it becomes the name of an environment variable"
        )
    elif name in _TAKEN or name.startswith(_TAKEN_HEADS) or name.endswith(_TAKEN_TAIL):
        message = f"{name} steers programs or Skydeck itself: take another name"
    if message:
        raise Invalid(message, [Problem("name", "name", message)])
    return name


def checked_value(value: str) -> str:
    """Raises `Invalid`, without the value, for one that cannot be kept or cannot be masked."""
    size = len(value.encode("utf-8", "surrogatepass"))
    message = ""
    if size > MAX_BYTES:
        message = f"a value has at most {MAX_BYTES:,} bytes; this one has {size:,}"
    elif len(value.strip()) < MIN_LENGTH:
        message = (
            f"a value has at least {MIN_LENGTH} characters: a shorter one stands in harmless text, "
            "too, and cannot be masked in logs"
        )
    elif len(set(value)) < MIN_SIGNS:
        message = (
            f"a value has at least {MIN_SIGNS} different characters: masking this one would blank "
            "rulers and numbers in logs"
        )
    elif _repeats(value.strip()):
        message = (
            "a value is not one piece repeated: masking this one would blank rulers and tables in "
            "logs"
        )
    elif "\0" in value or _is_broken(value):
        message = "a value holds no NUL and no half of a character: no environment can hold those"
    if message:
        raise Invalid(message, [Problem("value", "value", message)])
    return value


async def _refuse_foreign_keys(session: AsyncSession) -> None:
    """With another installation's file, what is set now would be lost once the right one is back.

    Raises `KeyMissing`.
    """
    lacking = set(await repository.count_by_key(session)) - set(vault_of(session).keys.ids())
    if lacking:
        names = ", ".join(sorted(lacking))
        raise missing(
            f"nothing was set: the key file lacks key {names}, which secrets are encrypted with. "
            "Put the right file back, or delete those secrets: `skydeck doctor` names them"
        )


async def _retire(session: AsyncSession, row: Secret, now: datetime) -> None:
    """Jobs that were given the value may print it yet: until they ended it is kept for masking."""
    if not await repository.may_still_be_printed(session, row.project_id):
        await repository.remove(session, row)
        return
    row.name = f"{row.name[:_RETIRED_NAME]}{RETIRED}{row.slug}"[:MAX_NAME]
    row.changed_at = now
    await session.flush()


def _unknown(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"there is no secret {name} in this project; did you mean {near[0]}?"
    if not known:
        return f"there is no secret {name}: this project has none yet, its administrators set them"
    return f"there is no secret {name} in this project; there are {', '.join(known)}"


def _texts(value: Any, field: str = "") -> Iterable[tuple[str, str]]:
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield field or str(key), str(key)
            yield from _texts(each, field or str(key))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each, field)


def _repeats(text: str) -> bool:
    """Whether the text is a shorter one, said several times, and perhaps its beginning once more.

    Whatever repeats covers a half of the text at least, so its second quarter stands there twice.
    """
    piece = len(text) // 4
    at = text.find(text[:piece], 1)
    while 0 < at <= len(text) // 2:
        if text[at:] == text[:-at]:
            return True
        at = text.find(text[:piece], at + 1)
    return False


def _is_broken(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return True
    return False
