"""The clients for calls to other hosts. Nothing else makes one; a test looks for it."""

import ssl
from collections.abc import Mapping
from functools import cache

import httpcore
import httpx

from app.outgoing.address import parse_url, target_of
from app.outgoing.direct import DirectClient
from app.outgoing.errors import BadAddress
from app.outgoing.gate import Gate, OnlyGate, RuleGate
from app.outgoing.gate import RuleSource as RuleSource
from app.outgoing.resolve import Resolver, SystemResolver
from app.outgoing.transport import GuardedTransport, Limits
from app.outgoing.zones import Zone, zone_of

__all__ = ["Limits", "RuleSource", "embedded_client", "guarded_client"]

_USUAL = Limits()


def guarded_client(
    rules: RuleSource,
    *,
    base_url: str = "",
    headers: Mapping[str, str] | None = None,
    limits: Limits = _USUAL,
    redirects: int = 0,
    resolver: Resolver | None = None,
    tls: ssl.SSLContext | None = None,
    network: httpcore.AsyncNetworkBackend | None = None,
) -> httpx.AsyncClient:
    """A client for addresses that people typed: each call is checked, pinned and limited.

    `rules` gives the allow-list (`AllowList` in `service.py`). At most `redirects` redirects are
    followed. `tls` None trusts the public authorities and this machine's. Calls raise
    `OutgoingError`, which is an `httpx.TransportError`, or one of httpx's own. Raises `BadAddress`
    for a `base_url` that may not be called at all.
    """
    if base_url:
        parse_url(base_url)
    gate = RuleGate(rules, resolver or SystemResolver())
    return _client(
        gate,
        base_url=base_url,
        headers=headers,
        limits=limits,
        redirects=redirects,
        tls=tls or _public_trust(),
        network=network,
    )


def embedded_client(
    address: str,
    *,
    headers: Mapping[str, str] | None = None,
    limits: Limits = _USUAL,
) -> httpx.AsyncClient:
    """A client for a service that we started ourselves, such as `http://127.0.0.1:8265`.

    `address` must come from us, never from what somebody typed. It must be a loopback address
    written as numbers, else `BadAddress`; all other targets are refused at each call.
    """
    target = target_of(parse_url(address))
    if isinstance(target.host, str) or zone_of(target.host) is not Zone.LOOPBACK:
        raise BadAddress(
            "An embedded service is called by its loopback address, such as 127.0.0.1.",
            rule="embedded",
        )
    return _client(OnlyGate(target, target.host), base_url=address, headers=headers, limits=limits)


def _client(
    gate: Gate,
    *,
    base_url: str,
    headers: Mapping[str, str] | None,
    limits: Limits,
    redirects: int = 0,
    tls: ssl.SSLContext | None = None,
    network: httpcore.AsyncNetworkBackend | None = None,
) -> httpx.AsyncClient:
    make = httpx.AsyncClient if redirects else DirectClient
    return make(
        base_url=base_url,
        headers=headers,
        timeout=httpx.Timeout(limits.read_seconds, connect=limits.connect_seconds),
        follow_redirects=redirects > 0,
        trust_env=False,
        transport=GuardedTransport(
            gate, limits=limits, redirects=redirects, tls=tls, network=network
        ),
    )


@cache
def _public_trust() -> ssl.SSLContext:
    # Made once: reading the authorities takes long enough to hold up an event loop.
    return httpcore.default_ssl_context()
