"""Decides at connect time which addresses of a target may be connected to."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from app.outgoing.address import Target, shown_host
from app.outgoing.errors import HostRefused
from app.outgoing.resolve import Resolver
from app.outgoing.rules import HostRule, Verdict, judge
from app.outgoing.zones import IPAddress

RuleSource = Callable[[], Awaitable[Sequence[HostRule]]]
"""The allow-list as it is now. May raise `AllowListUnreadable`."""


class Gate(Protocol):
    async def refresh(self) -> None:
        """Reads the rules anew; asked before each request."""
        ...

    async def check(self, target: Target) -> Sequence[IPAddress]:
        """The addresses to connect to, all of them checked. Raises `OutgoingError`."""
        ...

    def is_open(self, target: Target, address: IPAddress) -> bool:
        """Whether a connection made earlier may be used again, by the rules last read."""
        ...


class RuleGate:
    """Lets through what the rules allow; names are resolved here and nowhere later."""

    def __init__(self, rules: RuleSource, resolver: Resolver) -> None:
        self._source = rules
        self._resolver = resolver
        self._rules: Sequence[HostRule] = ()

    async def refresh(self) -> None:
        self._rules = await self._source()

    async def examine(self, target: Target) -> Verdict:
        """The verdict with all that led to it. Raises `NameNotResolved`."""
        host = target.host
        addresses = await self._resolver(host) if isinstance(host, str) else [host]
        await self.refresh()
        return judge(target, addresses, self._rules)

    async def check(self, target: Target) -> Sequence[IPAddress]:
        verdict = await self.examine(target)
        if verdict.refusal is not None:
            raise verdict.refusal
        return [each.address for each in verdict.addresses]

    def is_open(self, target: Target, address: IPAddress) -> bool:
        return judge(target, [address], self._rules).refusal is None


class OnlyGate:
    """Lets through exactly one target, given by us and by address: that of an embedded service."""

    def __init__(self, target: Target, address: IPAddress) -> None:
        self._target = target
        self._address = address

    async def refresh(self) -> None:
        return

    async def check(self, target: Target) -> Sequence[IPAddress]:
        if target != self._target:
            raise HostRefused(
                f"This connection is for {self._target} alone, not for {shown_host(target.host)}.",
                rule="embedded",
            )
        return [self._address]

    def is_open(self, target: Target, address: IPAddress) -> bool:
        return (target, address) == (self._target, self._address)
