"""The addresses by which people name a Ray cluster. Pure: reads text, resolves nothing.

`embedded`; `http(s)://HOST[:PORT]`; `sagemaker_ray://CLUSTER[/NAMESPACE]`, a Ray cluster of
SageMaker HyperPod; `sagemaker_ray://HOST[:PORT]`, told apart by its dot, as the toolkit does.
"""

import re
from dataclasses import dataclass

from app.outgoing.address import parse_host, parse_url
from app.outgoing.errors import BadAddress

EMBEDDED = "embedded"
SCHEME = "sagemaker_ray://"
DEFAULT_NAMESPACE = "default"
EXAMPLES = f"http://HOST:8265, https://HOST, {SCHEME}CLUSTER/NAMESPACE or {SCHEME}DASHBOARD-HOST"
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_MOST = 500


@dataclass(frozen=True, slots=True)
class EmbeddedAddress:
    """The head that Skydeck starts itself."""

    def __str__(self) -> str:
        return EMBEDDED


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """A dashboard that is called as it is: `url` has no path and no slash at its end."""

    url: str

    def __str__(self) -> str:
        return self.url


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """A RayCluster by its name, in a namespace of an EKS cluster."""

    cluster: str
    namespace: str

    def __str__(self) -> str:
        return f"{SCHEME}{self.cluster}/{self.namespace}"


@dataclass(frozen=True, slots=True)
class EndpointAddress:
    """A HyperPod dashboard by its host; `host` may end in a port."""

    host: str

    def __str__(self) -> str:
        return f"{SCHEME}{self.host}"


HyperpodAddress = ClusterAddress | EndpointAddress
RayAddress = EmbeddedAddress | HttpAddress | HyperpodAddress


class BadRayAddress(ValueError):
    """The text names no Ray cluster; the message says what is wanted."""


def parse_address(text: str) -> RayAddress:
    """The address of a text, in its one spelling. Raises `BadRayAddress`."""
    address = text.strip()
    if len(address) > _MOST:
        raise BadRayAddress(f"An address has at most {_MOST} characters.")
    if address == EMBEDDED:
        return EmbeddedAddress()
    if address.startswith(SCHEME):
        return _hyperpod(address.removeprefix(SCHEME).strip("/"))
    if address.startswith(("http://", "https://")):
        return _http(address)
    raise BadRayAddress(f"This is no address of a Ray cluster. Write {EXAMPLES}.")


def _hyperpod(rest: str) -> HyperpodAddress:
    first, slash, namespace = rest.partition("/")
    if "." in first:
        if slash:
            raise BadRayAddress("Behind a dashboard's host stands nothing: leave the path out.")
        return EndpointAddress(_host(first))
    namespace = namespace or DEFAULT_NAMESPACE
    for word, name in (("cluster", first), ("namespace", namespace)):
        if not _LABEL.fullmatch(name):
            raise BadRayAddress(
                f"{name!r} is no name of a {word}: it has small letters, digits and -, at most 63. "
                f"Write {SCHEME}CLUSTER/NAMESPACE."
            )
    return ClusterAddress(first, namespace)


def _host(text: str) -> str:
    try:
        url = parse_url(f"https://{text}")
        parse_host(url.raw_host.decode("ascii"))
    except BadAddress as error:
        raise BadRayAddress(error.message) from error
    if url.path not in ("", "/") or url.query or url.fragment:
        raise BadRayAddress("Behind a dashboard's host stands nothing: leave the path out.")
    return url.netloc.decode("ascii")


def _http(text: str) -> HttpAddress:
    try:
        url = parse_url(text)
    except BadAddress as error:
        raise BadRayAddress(error.message) from error
    if url.path not in ("", "/") or url.query or url.fragment:
        raise BadRayAddress(
            "The address of a dashboard ends with its host and port, such as "
            "http://ray.example.com:8265: leave the rest out."
        )
    return HttpAddress(f"{url.scheme}://{url.netloc.decode('ascii')}")
