"""What is allowed without a rule, and what each kind of rule opens."""

from ipaddress import IPv4Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.outgoing.address import parse_url, target_of
from app.outgoing.errors import (
    AddressRefused,
    BadAddress,
    HostRefused,
    PlainHttpRefused,
    PortRefused,
)
from app.outgoing.rule_text import parse_rule
from app.outgoing.rules import judge
from app.outgoing.zones import Zone, unwrapped, zone_of


def refusal(url: str, addresses: list[str], *rules: str) -> AddressRefused | None:
    target = target_of(parse_url(url))
    found = [ip_address(text) for text in addresses]
    return judge(target, found, [parse_rule(text) for text in rules]).refusal


@pytest.mark.parametrize("url", ["https://a.example", "https://a.example:8443/v1"])
def test_a_public_host_needs_no_rule(url: str) -> None:
    assert refusal(url, ["8.8.8.8", "2606:4700::1111"]) is None


@pytest.mark.parametrize(
    "address",
    ["10.0.0.1", "127.0.0.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "::1", "224.0.0.1"],
)
def test_one_inner_address_among_public_ones_refuses_the_host(address: str) -> None:
    found = refusal("https://a.example", ["8.8.8.8", address])
    assert isinstance(found, HostRefused)
    assert found.rule == zone_of(ip_address(address)).name.lower().replace("_", "-")
    assert address in found.message
    assert "a.example" in found.message


def test_plain_http_needs_a_rule() -> None:
    assert isinstance(refusal("http://a.example", ["8.8.8.8"]), PlainHttpRefused)
    assert refusal("http://a.example", ["8.8.8.8"], "a.example") is None
    assert refusal("http://a.example", ["8.8.8.8"], "8.8.8.0/24") is None
    half = refusal("http://a.example", ["8.8.8.8", "9.9.9.9"], "8.8.8.0/24")
    assert isinstance(half, PlainHttpRefused)


def test_a_wide_network_opens_nothing_that_is_never_called() -> None:
    for address in ("192.0.2.1", "192.0.0.8", "192.88.99.1"):
        assert isinstance(refusal("http://a.example", [address], "192.0.0.0/8"), HostRefused)


@pytest.mark.parametrize("port", [22, 25, 8, 6379, 6667, 11211])
def test_a_port_of_another_service_needs_a_rule_that_names_it(port: int) -> None:
    url = f"https://a.example:{port}"
    assert isinstance(refusal(url, ["8.8.8.8"]), PortRefused)
    assert isinstance(refusal(url, ["8.8.8.8"], "a.example"), PortRefused)
    assert refusal(url, ["8.8.8.8"], f"a.example:{port}") is None


@pytest.mark.parametrize(
    ("rule", "is_open"),
    [
        ("ray.internal", True),
        ("RAY.internal.", True),
        ("*.internal", True),
        ("ray.internal:8265", True),
        ("10.1.2.3", True),
        ("10.0.0.0/8", True),
        ("10.0.0.0/8:8265", True),
        ("::ffff:10.1.2.3", True),
        ("internal", False),
        ("*.ray.internal", False),
        ("ray.internal:8266", False),
        ("10.0.0.0/8:8266", False),
        ("10.2.0.0/16", False),
        ("fd00::/8", False),
    ],
)
def test_rules_open_what_they_name(rule: str, is_open: bool) -> None:
    assert (refusal("http://ray.internal:8265", ["10.1.2.3"], rule) is None) is is_open


@pytest.mark.parametrize("address", ["169.254.169.254", "fd00:ec2::254", "::ffff:169.254.169.254"])
def test_metadata_opens_only_to_its_own_address(address: str) -> None:
    exact = str(unwrapped(ip_address(address)))
    for rule in ("ray.internal", "*.internal", "169.254.0.0/16", "fd00::/8"):
        assert isinstance(refusal("http://ray.internal", [address], rule), HostRefused)
    assert refusal("http://ray.internal", [address], exact) is None


def test_a_name_does_not_open_link_local_addresses() -> None:
    assert refusal("http://ray.internal", ["169.254.1.1"], "ray.internal") is not None
    assert refusal("http://ray.internal", ["169.254.1.1"], "169.254.0.0/16") is None


def test_what_to_allow_is_advised_and_then_works() -> None:
    for address in ("10.0.0.1", "127.0.0.1", "169.254.169.254", "fe80::1", "100.64.0.9"):
        found = refusal("http://ray.internal", [address])
        assert found is not None
        entry = found.message.partition("“")[2].partition("”")[0]
        assert refusal("http://ray.internal", [address], entry) is None


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_no_rule_at_all_opens_an_inner_address(address: IPv4Address) -> None:
    found = refusal("https://a.example", [str(address)])
    assert (found is None) is (zone_of(address) is Zone.PUBLIC)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (" Ray.Internal. ", "ray.internal"),
        ("*.Ray.Example", "*.ray.example"),
        ("bücher.example:8000", "xn--bcher-kva.example:8000"),
        ("10.0.0.1/32", "10.0.0.1"),
        ("[FD00::1]:8265", "[fd00::1]:8265"),
        ("[fd00::/64]:80", "[fd00::/64]:80"),
        ("fd00::1", "fd00::1"),
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
    ],
)
def test_a_rule_has_one_spelling(text: str, canonical: str) -> None:
    rule = parse_rule(text)
    assert rule.text == canonical
    assert parse_rule(canonical) == rule


@pytest.mark.parametrize(
    "text",
    [
        *("", "*", "*.com", "*.*.example", "a b", "https://ray.internal", "u@ray.internal"),
        *("10.0.0.1/8", "0.0.0.0/0", "::/0", "10.0.0.0/33", "0.0.0.0", "224.0.0.0/4", "2002::/16"),
        *("127.1", "2130706433", "fe80::1%eth0", "ray.internal:0", "ray.internal:65536"),
        *("a/b", "ray.internal:", "ray.internal/path", "::/90"),
    ],
)
def test_texts_that_are_no_rule(text: str) -> None:
    with pytest.raises(BadAddress):
        parse_rule(text)


@given(st.text(max_size=40))
def test_any_text_is_a_rule_or_is_refused(text: str) -> None:
    try:
        rule = parse_rule(text)
    except BadAddress:
        return
    assert parse_rule(rule.text) == rule
