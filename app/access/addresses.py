"""Under which name the requests of one address are counted."""

import ipaddress

_IPV6_BITS = 64


def network_of(address: str) -> str:
    """The address; for IPv6 its network of 64 bits, since one caller has all of those.

    What is no address, as of a server that does not tell it, is given back as it is.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((int(parsed), _IPV6_BITS), strict=False))
