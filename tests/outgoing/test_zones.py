"""Which network an address belongs to, in all the ways it can be wrapped."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.outgoing.zones import NEVER, Zone, unwrapped, zone_of

V4 = st.integers(0, 2**32 - 1).map(IPv4Address)
V6 = st.integers(0, 2**128 - 1).map(IPv6Address)


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("8.8.8.8", Zone.PUBLIC),
        ("2606:4700::1111", Zone.PUBLIC),
        ("10.0.0.1", Zone.PRIVATE),
        ("172.31.255.255", Zone.PRIVATE),
        ("172.32.0.0", Zone.PUBLIC),
        ("192.168.1.1", Zone.PRIVATE),
        ("fd12::1", Zone.PRIVATE),
        ("100.64.0.1", Zone.SHARED),
        ("127.0.0.1", Zone.LOOPBACK),
        ("127.255.255.254", Zone.LOOPBACK),
        ("::1", Zone.LOOPBACK),
        ("169.254.1.1", Zone.LINK_LOCAL),
        ("fe80::1", Zone.LINK_LOCAL),
        ("169.254.169.254", Zone.METADATA),
        ("169.254.170.2", Zone.METADATA),
        ("100.100.100.200", Zone.METADATA),
        ("168.63.129.16", Zone.METADATA),
        ("fd00:ec2::254", Zone.METADATA),
        ("::ffff:169.254.169.254", Zone.METADATA),
        ("64:ff9b::a9fe:a9fe", Zone.METADATA),
        ("224.0.0.1", Zone.MULTICAST),
        ("ff02::1", Zone.MULTICAST),
        ("0.0.0.0", Zone.UNSPECIFIED),
        ("0.1.2.3", Zone.UNSPECIFIED),
        ("::", Zone.UNSPECIFIED),
        ("255.255.255.255", Zone.RESERVED),
        ("198.18.0.1", Zone.RESERVED),
        ("192.0.2.1", Zone.DOCUMENTATION),
        ("2001:db8::1", Zone.DOCUMENTATION),
        ("::127.0.0.1", Zone.TUNNEL),
        ("2002:7f00:1::", Zone.TUNNEL),
        ("2001:0:1::1", Zone.TUNNEL),
        ("2a00:1450::5efe:7f00:1", Zone.TUNNEL),
        ("64:ff9b:1::1", Zone.RESERVED),
        ("100::1", Zone.RESERVED),
        ("fec0::1", Zone.RESERVED),
        ("::ffff:0:7f00:1", Zone.RESERVED),
    ],
)
def test_zones(text: str, zone: Zone) -> None:
    assert zone_of(ip_address(text)) is zone


@given(V4)
def test_what_wraps_an_ipv4_address_is_judged_as_it(inner: IPv4Address) -> None:
    mapped = IPv6Address(0xFFFF_0000_0000 | int(inner))
    nat64 = IPv6Address((0x64_FF9B << 96) | int(inner))
    assert zone_of(mapped) is zone_of(nat64) is zone_of(inner)
    assert unwrapped(mapped) == unwrapped(nat64) == inner


@given(V4)
def test_no_tunnel_is_a_way_in(inner: IPv4Address) -> None:
    for wrapped in (int(inner), (0x2002 << 112) | (int(inner) << 80), (0x2001 << 112) | int(inner)):
        zone = zone_of(IPv6Address(wrapped))
        assert zone in NEVER or (wrapped == 1 and zone is Zone.LOOPBACK)


@given(st.one_of(V4, V6))
def test_python_calls_nothing_private_that_is_public_here(address: IPv4Address) -> None:
    if zone_of(address) is Zone.PUBLIC:
        assert unwrapped(address).is_global


@given(V6, st.text("abc012", min_size=1, max_size=8))
def test_a_zone_id_changes_nothing(address: IPv6Address, scope: str) -> None:
    assert zone_of(IPv6Address(f"{address}%{scope}")) is zone_of(address)
