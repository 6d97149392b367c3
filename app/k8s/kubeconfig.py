"""An uploaded kubeconfig, of which only a server, its inline authority and a token are taken.

A kubeconfig may run programs, name files of this machine and turn TLS checks off. None of that is
for a file that came through a form, so each such key is refused with its name.
"""

import base64
import binascii
import ssl
from collections.abc import Mapping
from typing import Any

import yaml

from app.k8s.errors import BadKubeconfig
from app.k8s.point import KubePoint
from app.outgoing.address import parse_url
from app.outgoing.errors import BadAddress

MAX_BYTES = 100_000
_WANTED = "Upload one whose user has a token and whose cluster has certificate-authority-data."
_OF_CLUSTER = frozenset({"server", "certificate-authority-data"})
_OF_USER = frozenset({"token"})
_WHY = {
    "exec": "it would run a program on Skydeck's machine",
    "auth-provider": "it would run a program on Skydeck's machine",
    "tokenFile": "it would read a file of Skydeck's machine",
    "certificate-authority": "it would read a file of Skydeck's machine",
    "client-certificate": "it would read a file of Skydeck's machine",
    "client-key": "it would read a file of Skydeck's machine",
    "client-certificate-data": "Skydeck signs in with tokens only",
    "client-key-data": "Skydeck signs in with tokens only",
    "username": "Skydeck signs in with tokens only",
    "password": "Skydeck signs in with tokens only",
    "insecure-skip-tls-verify": "anybody on the way could read the token",
    "tls-server-name": "the certificate must be the server's own",
    "proxy-url": "the proxy would be one that no administrator allowed",
    "as": "Skydeck acts as nobody but itself",
}


def read_kubeconfig(text: str) -> KubePoint:
    """The server, authority and token of its current context. Raises `BadKubeconfig`.

    Format: Kubernetes' `Config`, v1. Other contexts of the file are not looked at.
    """
    if len(text.encode(errors="replace")) > MAX_BYTES:
        raise BadKubeconfig(f"A kubeconfig has at most {MAX_BYTES:,} bytes.")
    config = _loaded(text)
    context = _named(config, "context", config.get("current-context"))
    cluster = _named(config, "cluster", context.get("cluster"))
    user = _named(config, "user", context.get("user"))
    _refuse_others("cluster", cluster, _OF_CLUSTER)
    _refuse_others("user", user, _OF_USER)
    token = user.get("token")
    if not isinstance(token, str) or not token.strip() or not token.strip().isprintable():
        raise BadKubeconfig(f"Its user has no token. {_WANTED}")
    return KubePoint(_server(cluster.get("server")), _authority(cluster), token.strip())


def checked_authority(text: str) -> str:
    """Certificates in PEM, as they are. Raises `ValueError`."""
    try:
        ssl.create_default_context(cadata=text)
    # TypeError: a text that is not ASCII.
    except (ssl.SSLError, ValueError, TypeError):
        raise ValueError("This is no certificate in PEM (-----BEGIN CERTIFICATE-----).") from None
    return text


def _loaded(text: str) -> dict[str, Any]:
    try:
        config = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError):
        # Its message would quote the text, and the text holds a token.
        raise BadKubeconfig("The file cannot be read as YAML.") from None
    if not isinstance(config, dict):
        raise BadKubeconfig(f"The file is no kubeconfig. {_WANTED}")
    return config


def _named(config: Mapping[str, Any], kind: str, name: object) -> dict[str, Any]:
    if not isinstance(name, str) or not name:
        which = "no current-context" if kind == "context" else f"a context that names no {kind}"
        raise BadKubeconfig(f"The kubeconfig has {which}.")
    rows = config.get(f"{kind}s")
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and row.get("name") == name and isinstance(row.get(kind), dict):
            found: dict[str, Any] = row[kind]
            return found
    raise BadKubeconfig(f"The kubeconfig's context names a {kind} that it does not have.")


def _refuse_others(kind: str, entry: Mapping[str, Any], known: frozenset[str]) -> None:
    for key, value in entry.items():
        if key in known or key == "extensions" or value in (None, "", False):
            continue
        why = _WHY.get(str(key), "it is not known here")
        raise BadKubeconfig(f"{str(key)[:80]!r} of its {kind} is refused: {why}. {_WANTED}")


def _server(server: object) -> str:
    try:
        url = parse_url(str(server))
    except BadAddress as error:
        raise BadKubeconfig(f"Its server is no address that is called. {error.message}") from error
    if url.query or url.fragment:
        raise BadKubeconfig("Its server's address has a query.")
    return str(url).rstrip("/")


def _authority(cluster: Mapping[str, Any]) -> str:
    data = cluster.get("certificate-authority-data")
    if not data:
        raise BadKubeconfig(f"Its cluster has no certificate-authority-data. {_WANTED}")
    try:
        return checked_authority(base64.b64decode(str(data), validate=True).decode("ascii"))
    except (binascii.Error, ValueError):
        raise BadKubeconfig("Its certificate-authority-data is no certificate.") from None
