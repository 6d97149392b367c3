"""What kind of network an IP address belongs to. Pure tables; no network, no settings.

Sources: the IANA special-purpose address registries (RFC 6890 and its successors), and the
clouds' documentation of their metadata services. Python's own `is_private` and `is_global` have
changed between patch releases, so the tables are written out.
"""

from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network


class Zone(StrEnum):
    """Where an address lies; the value is the word that people read."""

    PUBLIC = "public"
    PRIVATE = "private"
    SHARED = "shared by a provider"
    LOOPBACK = "loopback"
    LINK_LOCAL = "link-local"
    METADATA = "cloud metadata"
    MULTICAST = "multicast"
    UNSPECIFIED = "unspecified"
    DOCUMENTATION = "documentation"
    TUNNEL = "IPv4 in IPv6"
    RESERVED = "reserved"


NEVER = frozenset(
    (Zone.MULTICAST, Zone.UNSPECIFIED, Zone.DOCUMENTATION, Zone.TUNNEL, Zone.RESERVED)
)
"""No list makes these callable: nothing we want to talk to lives there."""
BY_NAME = frozenset((Zone.PUBLIC, Zone.PRIVATE, Zone.SHARED, Zone.LOOPBACK))
"""A rule for a name opens these. The others hold secrets of the machine itself (metadata), and
whoever answers for a name could point it there: they need a rule that writes the address out."""

_METADATA = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",  # AWS, Google, Azure, Oracle, DigitalOcean
        "169.254.170.2",  # AWS container credentials
        "169.254.170.23",  # AWS EKS Pod Identity
        "169.254.0.23",  # Tencent
        "100.100.100.200",  # Alibaba
        "168.63.129.16",  # Azure's wire server: a public address that only its machines reach
        "192.0.0.192",  # Oracle, older machines
        "fd00:ec2::254",  # AWS
        "fd00:ec2::23",  # AWS EKS Pod Identity
        "fd20:ce::254",  # Google
    )
)
_V4 = tuple(
    (IPv4Network(text), zone)
    for text, zone in (
        ("0.0.0.0/8", Zone.UNSPECIFIED),
        ("10.0.0.0/8", Zone.PRIVATE),
        ("100.64.0.0/10", Zone.SHARED),
        ("127.0.0.0/8", Zone.LOOPBACK),
        ("169.254.0.0/16", Zone.LINK_LOCAL),
        ("172.16.0.0/12", Zone.PRIVATE),
        ("192.0.0.0/24", Zone.RESERVED),
        ("192.0.2.0/24", Zone.DOCUMENTATION),
        ("192.88.99.0/24", Zone.TUNNEL),
        ("192.168.0.0/16", Zone.PRIVATE),
        ("198.18.0.0/15", Zone.RESERVED),
        ("198.51.100.0/24", Zone.DOCUMENTATION),
        ("203.0.113.0/24", Zone.DOCUMENTATION),
        ("224.0.0.0/4", Zone.MULTICAST),
        ("240.0.0.0/4", Zone.RESERVED),
    )
)
_V6 = tuple(
    (IPv6Network(text), zone)
    for text, zone in (
        ("::/128", Zone.UNSPECIFIED),
        ("::1/128", Zone.LOOPBACK),
        ("::/96", Zone.TUNNEL),  # IPv4-compatible
        ("fc00::/7", Zone.PRIVATE),
        ("fe80::/10", Zone.LINK_LOCAL),
        ("ff00::/8", Zone.MULTICAST),
        ("2001::/32", Zone.TUNNEL),  # Teredo
        ("2001::/23", Zone.RESERVED),
        ("2001:db8::/32", Zone.DOCUMENTATION),
        ("2002::/16", Zone.TUNNEL),  # 6to4
        ("3fff::/20", Zone.DOCUMENTATION),
        ("2000::/3", Zone.PUBLIC),
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
# The middle of an ISATAP address (RFC 5214), with and without the bit for a unique IPv4 address.
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


def zone_of(address: IPAddress) -> Zone:
    """The zone of an address; that of the IPv4 address inside, where IPv6 only wraps one."""
    inner = unwrapped(address)
    if inner in _METADATA:
        return Zone.METADATA
    if isinstance(inner, IPv4Address):
        return next((zone for network, zone in _V4 if inner in network), Zone.PUBLIC)
    if (int(inner) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return Zone.TUNNEL
    return next((zone for network, zone in _V6 if inner in network), Zone.RESERVED)


def unwrapped(address: IPAddress) -> IPAddress:
    """The IPv4 address in an IPv4-mapped (RFC 4291) or NAT64 (RFC 6052) one, and no zone id."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    plain = IPv6Address(int(address))
    return IPv4Address(int(plain) & 0xFFFF_FFFF) if plain in _NAT64 else plain
