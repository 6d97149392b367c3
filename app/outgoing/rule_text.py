"""Reads entries of the allow-list, and gives each its one spelling."""

import re
from ipaddress import IPv4Network, IPv6Network, ip_network

import httpx

from app.outgoing.address import parse_host
from app.outgoing.errors import BadAddress
from app.outgoing.rules import HostRule
from app.outgoing.zones import NEVER, IPNetwork, zone_of

# `[v6]:port`, `[v6]`, `host:port` or `host`; a bare IPv6 address has more colons than one.
_WITH_PORT = re.compile(
    r"\[(?P<inner>[^\[\]]+)\](?::(?P<p>\d{1,5}))?|(?P<host>[^:]+):(?P<port>\d{1,5})"
)
_SHORTEST_V4, _SHORTEST_V6 = 8, 7
# Names that no public registry gives out (RFC 6761, RFC 6762, ICANN's .internal).
_INNER_TOPS = frozenset(("internal", "local", "localhost", "test"))


def parse_rule(text: str) -> HostRule:
    """The rule that a text means. Raises `BadAddress`.

    Takes a name, `*.` and a suffix, an IP address or a network in CIDR form; each may be followed
    by a port, then with IPv6 in brackets.
    """
    host, port = _split(text.strip().lower())
    if port is not None and not 0 < port < 65_536:
        raise BadAddress(f"{port} is no port: it must be 1 to 65535.", rule="port")
    network = _network(host)
    if network is not None:
        return HostRule(_shown(network, port), network=network, port=port)
    is_suffix = host.startswith("*.")
    name = _name(host.removeprefix("*."))
    if is_suffix and "." not in name and name not in _INNER_TOPS:
        raise BadAddress(
            f"*.{name} would allow half the internet. Name more of it, such as *.ray.{name}.",
            rule="suffix",
        )
    shown = f"*.{name}" if is_suffix else name
    end = "" if port is None else f":{port}"
    return HostRule(shown + end, name=name, is_suffix=is_suffix, port=port)


def _split(text: str) -> tuple[str, int | None]:
    if "://" in text or "@" in text:
        raise BadAddress(
            "Write the host alone, such as ray.internal or 10.0.0.0/24:8265.", rule="host"
        )
    found = _WITH_PORT.fullmatch(text)
    if found is None:
        return text, None
    port = found["p"] or found["port"]
    return found["inner"] or found["host"], int(port) if port else None


def _network(text: str) -> IPNetwork | None:
    """The network, or None for a name. Raises `BadAddress` for one that no rule may hold."""
    try:
        network = ip_network(text)
    except ValueError as error:
        if "/" in text:
            detail = "has host bits set" if "host bits" in str(error) else "is no network"
            raise BadAddress(
                f"{text} {detail}. Write one such as 10.0.0.0/24.", rule="network"
            ) from None
        return None
    if isinstance(network, IPv6Network) and network.network_address.scope_id:
        raise BadAddress("An address with a zone (%) means one machine's cable.", rule="zone-id")
    network = _plain(network)
    _check(network)
    return network


def _plain(network: IPNetwork) -> IPNetwork:
    """IPv4, where IPv6 only wraps it (::ffff:0:0/96)."""
    if isinstance(network, IPv4Network) or network.network_address.ipv4_mapped is None:
        return network
    if network.prefixlen < 96:
        raise BadAddress(f"{network} mixes IPv4 and IPv6.", rule="network")
    return IPv4Network((network.network_address.ipv4_mapped, network.prefixlen - 96))


def _check(network: IPNetwork) -> None:
    shortest = _SHORTEST_V4 if isinstance(network, IPv4Network) else _SHORTEST_V6
    if network.prefixlen < shortest:
        raise BadAddress(
            f"{network} is too wide: a network needs at least /{shortest}.", rule="network"
        )
    zones = [zone_of(network.network_address), zone_of(network.broadcast_address)]
    if NEVER.issuperset(zones):
        raise BadAddress(f"{network} is {zones[0]}: such addresses are never called.", rule="never")


def _name(text: str) -> str:
    try:
        host = parse_host(httpx.URL(scheme="https", host=text).raw_host.decode("ascii"))
    except (httpx.InvalidURL, UnicodeError):
        host = None
    if not isinstance(host, str):
        raise BadAddress(
            "This is no host. Write a name, *. and a suffix, an IP address or a network.",
            rule="host",
        )
    return host


def _shown(network: IPNetwork, port: int | None) -> str:
    is_one = network.num_addresses == 1
    text = str(network.network_address) if is_one else str(network)
    if port is None:
        return text
    return f"[{text}]:{port}" if isinstance(network, IPv6Network) else f"{text}:{port}"
