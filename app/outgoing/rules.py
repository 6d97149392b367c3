"""Which targets may be called, given the addresses they have and what administrators allowed.

Public hosts may be called by https on ordinary ports; anything else needs a rule. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.outgoing.address import Target, shown_host
from app.outgoing.errors import (
    WHERE,
    AddressRefused,
    HostRefused,
    PlainHttpRefused,
    PortRefused,
)
from app.outgoing.zones import BY_NAME, NEVER, IPAddress, IPNetwork, Zone, unwrapped, zone_of

_LOW_PORTS = frozenset((80, 443))
_FIRST_HIGH_PORT = 1024
# Ports above 1023 that the Fetch standard (§2.9) calls bad, and stores that take commands as text.
_OTHER_SERVICES = frozenset(
    (
        *(1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667),
        *(6668, 6669, 6679, 6697, 10080),
        *(2375, 3306, 5432, 6379, 9200, 11211, 27017),
    )
)


@dataclass(frozen=True, slots=True)
class HostRule:
    """One entry of the allow-list, `text` as it is stored.

    Either `network` is set, or `name`: of one host, or with `is_suffix` of all hosts below it.
    `port` None means every port.
    """

    text: str
    name: str = ""
    is_suffix: bool = False
    network: IPNetwork | None = None
    port: int | None = None

    def allows(self, target: Target, address: IPAddress) -> bool:
        """Whether the rule opens this address of the target."""
        zone, inner = zone_of(address), unwrapped(address)
        if self.port not in (None, target.port) or zone in NEVER:
            return False
        if self.network is None:
            return zone in BY_NAME and self._names(target.host)
        if zone is Zone.METADATA and self.network.num_addresses > 1:
            return False
        return inner in self.network

    def _names(self, host: str | IPAddress) -> bool:
        if not isinstance(host, str):
            return False
        return host.endswith(f".{self.name}") if self.is_suffix else host == self.name


@dataclass(frozen=True, slots=True)
class AddressVerdict:
    """One address of a target: its zone, and the rule that opens it, if any."""

    address: IPAddress
    zone: Zone
    rule: HostRule | None

    @property
    def is_open(self) -> bool:
        return self.zone is Zone.PUBLIC or self.rule is not None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a target may be called; `refusal` says why not."""

    target: Target
    addresses: tuple[AddressVerdict, ...]
    refusal: AddressRefused | None


def judge(target: Target, addresses: Sequence[IPAddress], rules: Sequence[HostRule]) -> Verdict:
    """Judges every address: one bad address refuses the whole target.

    A resolver that mixes a public address with an inner one could otherwise choose between them.
    """
    seen = tuple(
        AddressVerdict(
            address,
            zone_of(address),
            next((rule for rule in rules if rule.allows(target, address)), None),
        )
        for address in addresses
    )
    return Verdict(target, seen, _refusal(target, seen))


def _refusal(target: Target, seen: Sequence[AddressVerdict]) -> AddressRefused | None:
    closed = next((each for each in seen if not each.is_open), None)
    if closed is not None:
        return _host_refused(target, closed)
    has_rule = all(each.rule is not None for each in seen)
    names_port = all(each.rule is not None and each.rule.port is not None for each in seen)
    if not (names_port or _is_ordinary(target.port)):
        return PortRefused(shown_host(target.host), target.port)
    if target.scheme == "http" and not has_rule:
        return PlainHttpRefused(shown_host(target.host))
    return None


def _host_refused(target: Target, closed: AddressVerdict) -> HostRefused:
    host, zone = shown_host(target.host), closed.zone
    is_name = isinstance(target.host, str)
    leads = (
        f"{host} leads to {closed.address}, a {zone} address"
        if is_name
        else (f"{host} is a {zone} address")
    )
    return HostRefused(f"{leads}. {_advice(target, closed)}", rule=_rule_id(zone))


def _advice(target: Target, closed: AddressVerdict) -> str:
    if closed.zone in NEVER:
        return "Such addresses are never called."
    entry = target.host if closed.zone in BY_NAME else unwrapped(closed.address)
    return f"If that is meant, an administrator can allow “{entry}” under {WHERE}."


def _is_ordinary(port: int) -> bool:
    return port in _LOW_PORTS or (port >= _FIRST_HIGH_PORT and port not in _OTHER_SERVICES)


def _rule_id(zone: Zone) -> str:
    return zone.name.lower().replace("_", "-")
