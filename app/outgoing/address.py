"""Where a URL leads. Pure: reads text, resolves nothing.

URLs are read by httpx, which also sends the requests: a second parser could read another host.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

import httpx

from app.outgoing.errors import BadAddress
from app.outgoing.zones import IPAddress

DEFAULT_PORTS = {"http": 80, "https": 443}
_LONGEST_NAME = 253
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
# C libraries read such names as IPv4 addresses: 2130706433, 0x7f.1, 127.1 (WHATWG URL §3.5).
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")


@dataclass(frozen=True, slots=True)
class Target:
    """`host` is an IP address, or a lower-case ASCII name without the dot at its end."""

    scheme: str
    host: str | IPAddress
    port: int

    def __str__(self) -> str:
        """Host and port, as people write them."""
        shown = shown_host(self.host)
        return shown if self.port == DEFAULT_PORTS[self.scheme] else f"{shown}:{self.port}"


def parse_url(text: str) -> httpx.URL:
    """The URL of a text. Raises `BadAddress` if it may not be called at all."""
    try:
        url = httpx.URL(text.strip())
    except (httpx.InvalidURL, UnicodeError):
        # Their message may quote the text, and the text may hold a password.
        raise BadAddress(
            "This is no web address. Write one such as https://llm.example.com:8000/v1.",
            rule="unreadable",
        ) from None
    target_of(url)
    return url


def target_of(url: httpx.URL) -> Target:
    """Where the URL leads. Raises `BadAddress`."""
    if url.scheme not in DEFAULT_PORTS:
        raise BadAddress("Only https:// and http:// addresses are called.", rule="scheme")
    if url.userinfo:
        raise BadAddress(
            "An address holds no user name and no password: keep those in a secret.",
            rule="userinfo",
        )
    port = DEFAULT_PORTS[url.scheme] if url.port is None else url.port
    if not 0 < port < 65_536:
        raise BadAddress(f"{port} is no port: it must be 1 to 65535.", rule="port")
    return Target(url.scheme, parse_host(url.raw_host.decode("ascii")), port)


def parse_host(text: str) -> str | IPAddress:
    """An IP address or a name in its one spelling. Raises `BadAddress`.

    Takes ASCII (IDNA done), IPv6 without brackets.
    """
    name = text.lower().removesuffix(".")
    if "%" in name and ":" in name:
        raise BadAddress("An address with a zone (%) means one machine's cable.", rule="zone-id")
    try:
        return IPv6Address(name) if ":" in name else IPv4Address(name)
    except ValueError:
        pass
    if _NUMBER.fullmatch(name):
        raise BadAddress(
            "Write an IPv4 address as four decimal numbers, such as 192.168.0.10.",
            rule="number-form",
        )
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise BadAddress("The address names no host that can exist.", rule="host")
    return name


def shown_host(host: str | IPAddress) -> str:
    """The host as it stands in a URL."""
    return f"[{host}]" if isinstance(host, IPv6Address) else str(host)
