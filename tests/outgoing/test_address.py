"""Texts that name a target, and texts that do not."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.outgoing.address import parse_url, target_of
from app.outgoing.errors import BadAddress
from app.outgoing.zones import IPAddress


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("https://api.example.com", "api.example.com", 443),
        ("http://API.Example.com./v1", "api.example.com", 80),
        (" https://bücher.example:8443 ", "xn--bcher-kva.example", 8443),
        ("https://exa。mple.com", "exa.mple.com", 443),
        ("https://head_svc.ns", "head_svc.ns", 443),
        ("http://127.0.0.1:8265", IPv4Address("127.0.0.1"), 8265),
        ("http://127。0。0。1", IPv4Address("127.0.0.1"), 80),
        ("http://[::FFFF:1.2.3.4]", IPv6Address("::ffff:1.2.3.4"), 80),
        ("https://1.example", "1.example", 443),
    ],
)
def test_targets(text: str, host: str | IPAddress, port: int) -> None:
    target = target_of(parse_url(text))
    assert (target.host, target.port) == (host, port)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("ftp://example.com", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("gopher://example.com", "scheme"),
        ("javascript:alert(1)", "scheme"),
        ("example.com", "scheme"),
        ("//example.com", "scheme"),
        ("", "scheme"),
        ("https://", "host"),
        ("https:///path", "host"),
        ("https://user:hunter2@example.com", "userinfo"),
        ("https://example.com\\@127.0.0.1", "userinfo"),
        ("https://example.com\\.evil", "host"),
        ("https://127%2e0.0.1", "number-form"),
        ("https://a..b", "host"),
        ("https://-a.example", "host"),
        ("https://ex ample", "host"),
        ("https://" + "a" * 64 + ".example", "host"),
        ("https://１２７.0.0.1", "unreadable"),
        ("https://a\nb", "unreadable"),
        ("https://example.com:0", "port"),
        ("https://example.com:65536", "port"),
        ("https://example.com:x", "unreadable"),
        ("http://[fe80::1%25eth0]", "zone-id"),
        ("http://2130706433", "number-form"),
        ("http://0x7f000001", "number-form"),
        ("http://0x7f.1", "number-form"),
        ("http://127.1", "number-form"),
        ("http://017700000001", "number-form"),
        ("http://0177.0.0.1", "unreadable"),
        ("http://127.0.0.1.2", "number-form"),
        ("http://example.1", "number-form"),
    ],
)
def test_no_targets(text: str, rule: str) -> None:
    with pytest.raises(BadAddress) as caught:
        parse_url(text)
    assert caught.value.rule == rule
    assert "hunter2" not in caught.value.message


@given(st.integers(0, 2**32 - 1), st.data())
def test_no_other_spelling_of_an_ipv4_address_is_a_name(number: int, data: st.DataObject) -> None:
    """What the C library reads as an address is read as that address, or refused."""
    parts = [number >> 24, (number >> 16) & 255, (number >> 8) & 255, number & 255]
    kept = data.draw(st.integers(0, 3))
    rest = int.from_bytes(bytes(parts[kept:]))
    forms = [data.draw(st.sampled_from((str, hex, lambda n: f"0{n:o}")))(n) for n in parts[:kept]]
    text = ".".join([*forms, data.draw(st.sampled_from((str, hex, lambda n: f"0{n:o}")))(rest)])
    assert socket.inet_aton(text) == number.to_bytes(4)
    try:
        target = target_of(parse_url(f"http://{text}"))
    except BadAddress:
        return
    assert target.host == ip_address(number)


@given(st.text(max_size=60))
def test_any_text_is_a_target_or_a_bad_address(text: str) -> None:
    try:
        target = target_of(parse_url(f"http://{text}/"))
    except BadAddress:
        return
    assert 0 < target.port < 65_536
    assert str(target)
