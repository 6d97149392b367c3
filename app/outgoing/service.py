"""Hosts that administrators let Skydeck call, and trying what a call would come to."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.clock import utcnow
from app.db import Database
from app.errors import Invalid, NotFound, Problem
from app.ids import new_slug
from app.models import AllowedHost
from app.outgoing import repository
from app.outgoing.address import Target, parse_url, target_of
from app.outgoing.allow_list import AllowList
from app.outgoing.errors import AddressRefused, BadAddress, NameNotResolved
from app.outgoing.gate import RuleGate
from app.outgoing.resolve import Resolver
from app.outgoing.rule_text import parse_rule
from app.outgoing.rules import AddressVerdict
from app.secrets import service as secrets

HOST_LENGTH = 300
REASON_LENGTH = 500
ADDRESS_LENGTH = 2_000


@dataclass(frozen=True, slots=True)
class Trial:
    """What a call would come to. `refusal` None: it would be made.

    `target` None and no addresses: the text could not be read, or the name not be resolved.
    """

    target: Target | None
    addresses: Sequence[AddressVerdict] = ()
    refusal: AddressRefused | NameNotResolved | None = None


async def list_hosts(session: AsyncSession) -> list[AllowedHost]:
    """All allowed hosts, by name."""
    return await repository.list_hosts(session)


async def allow(session: AsyncSession, actor: Actor, *, host: str, reason: str) -> AllowedHost:
    """Allows a host, from now on and in all processes. Raises `Invalid`.

    `host` is a name, `*.` and a suffix, an IP address or a network; each may name a port.
    """
    # First of all: a message about a wrong value may quote it.
    await secrets.refuse_values(session, None, {"host": host, "reason": reason})
    text = _checked(host, reason)
    row = AllowedHost(
        slug=new_slug("host"),
        host=text,
        reason=reason.strip(),
        created_by=actor.name,
        created_at=utcnow(),
    )
    if await repository.find_by_text(session, text) is not None:
        raise _taken(text)
    try:
        async with session.begin_nested():
            session.add(row)
    except IntegrityError:
        # Somebody else allowed it between our look and our insert.
        raise _taken(text) from None
    audit.record(session, actor, Action.HOST_ALLOW, _audited(row), after=_fields(row))
    return row


async def refuse(session: AsyncSession, actor: Actor, slug: str) -> None:
    """Takes a host off the list. Raises `NotFound`."""
    row = await repository.find_host(session, slug)
    if row is None:
        raise NotFound(f"there is no outgoing host {slug}")
    audit.record(session, actor, Action.HOST_REFUSE, _audited(row), before=_fields(row))
    await session.delete(row)


async def try_address(database: Database, resolver: Resolver, text: str) -> Trial:
    """Asks DNS and the rules, by the list as it is now; sends nothing to the address itself.

    Raises `AllowListUnreadable`.
    """
    # People leave the scheme away; what is meant then is the one that needs no rule.
    address = text.strip()
    url = address if "://" in address else f"https://{address}"
    target = None
    try:
        target = target_of(parse_url(url))
        verdict = await RuleGate(AllowList(database), resolver).examine(target)
    except (AddressRefused, NameNotResolved) as error:
        return Trial(target, refusal=error)
    return Trial(target, verdict.addresses, verdict.refusal)


def _checked(host: str, reason: str) -> str:
    """The rule in its one spelling."""
    problems, text = [], ""
    try:
        text = parse_rule(host[: HOST_LENGTH + 1]).text
    except BadAddress as error:
        problems.append(Problem("host", error.rule, error.message))
    if len(host) > HOST_LENGTH or len(text) > HOST_LENGTH:
        problems = [Problem("host", "length", f"At most {HOST_LENGTH} characters.")]
    if not reason.strip():
        problems.append(Problem("reason", "missing", "Say why, for whoever looks at it later."))
    elif len(reason) > REASON_LENGTH or not reason.strip().isprintable():
        message = f"Give at most {REASON_LENGTH} printable characters, on one line."
        problems.append(Problem("reason", "length", message))
    if problems:
        raise Invalid("this host cannot be allowed", problems)
    return text


def _taken(text: str) -> Invalid:
    message = f"{text} is allowed already."
    return Invalid("this host cannot be allowed", [Problem("host", "taken", message)])


def _fields(row: AllowedHost) -> dict[str, str]:
    return {"host": row.host, "reason": row.reason}


def _audited(row: AllowedHost) -> audit.Target:
    return audit.Target("host", row.host)
