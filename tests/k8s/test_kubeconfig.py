"""Of an uploaded kubeconfig only a server, an inline authority and a token are taken."""

import base64
import json
from typing import Any

import pytest
import trustme

from app.k8s.errors import BadKubeconfig
from app.k8s.kubeconfig import MAX_BYTES, read_kubeconfig

CA = trustme.CA().cert_pem.bytes()
TOKEN = "s3cret-token-of-kubernetes"


def config(
    cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **others: Any
) -> str:
    here: dict[str, Any] = {
        "server": "https://ABC.gr7.us-west-2.eks.amazonaws.com",
        "certificate-authority-data": base64.b64encode(CA).decode(),
    }
    whole = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": here | (cluster or {})}],
        "users": [{"name": "u", "user": {"token": TOKEN} if user is None else user}],
    }
    return json.dumps(whole | others)


def test_server_authority_and_token_are_read() -> None:
    point = read_kubeconfig(config())
    assert point.server == "https://abc.gr7.us-west-2.eks.amazonaws.com"
    assert (point.ca, point.token) == (CA.decode(), TOKEN)
    assert TOKEN not in repr(point)


def test_other_contexts_do_not_matter() -> None:
    users = [{"name": "u", "user": {"token": TOKEN}}, {"name": "x", "user": {"exec": {}}}]
    assert read_kubeconfig(config(users=users)).token == TOKEN


@pytest.mark.parametrize(
    ("cluster", "user", "why"),
    [
        ({}, {"exec": {"command": "aws"}}, "'exec' of its user.*run a program"),
        ({}, {"token": TOKEN, "exec": {"command": "aws"}}, "run a program"),
        ({}, {"auth-provider": {"name": "gcp"}}, "run a program"),
        ({}, {"tokenFile": "/etc/passwd"}, "read a file"),
        ({}, {"client-certificate": "/x", "client-key": "/y"}, "read a file"),
        ({}, {"client-certificate-data": "eA=="}, "tokens only"),
        ({}, {"username": "u", "password": "p"}, "tokens only"),
        ({}, {"token": TOKEN, "as": "admin"}, "nobody but itself"),
        ({}, {}, "no token"),
        ({}, {"token": ["x"]}, "no token"),
        ({}, {"token": "a\nb"}, "no token"),
        ({"certificate-authority": "/etc/ca.pem"}, None, "read a file"),
        ({"insecure-skip-tls-verify": True}, None, "on the way"),
        ({"proxy-url": "http://proxy:3128"}, None, "proxy"),
        ({"tls-server-name": "kubernetes"}, None, "server's own"),
        ({"magic": 1}, None, "not known here"),
        ({"certificate-authority-data": ""}, None, "no certificate-authority-data"),
        ({"certificate-authority-data": "eA=="}, None, "is no certificate"),
        ({"certificate-authority-data": "%%"}, None, "is no certificate"),
        ({"server": "file:///etc/passwd"}, None, "Only https"),
        ({"server": "https://u:p@host"}, None, "no password"),
        ({"server": "https://host/?x=1"}, None, "query"),
    ],
)
def test_anything_else_is_refused_with_the_reason(
    cluster: dict[str, Any], user: dict[str, Any] | None, why: str
) -> None:
    with pytest.raises(BadKubeconfig, match=why) as caught:
        read_kubeconfig(config(cluster, user))
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "a: [",
        "hello",
        "current-context: 5",
        "current-context: x\ncontexts: 3",
        "!!python/object/apply:os.system ['true']",
        "x" * (MAX_BYTES + 1),
        "[" * 5000,
        config(contexts=[{"name": "here", "context": {"user": "u"}}]),
        config(clusters=[]),
    ],
)
def test_what_is_no_kubeconfig_is_refused(text: str) -> None:
    with pytest.raises(BadKubeconfig):
        read_kubeconfig(text)
