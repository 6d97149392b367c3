"""Creates a `RayDashboardConnection`: the pre-signed way to one Ray dashboard of HyperPod.

Resource `connection.access.sagemaker.amazonaws.com/v1alpha1`, of the HyperPod Ray endpoint
operator. The answer to the create holds `status.connectionUrl` at once; nothing is watched. The
requests are those of the package toolkit-for-ray-on-sagemaker-ai 1.0.4, which a test compares.
"""

import ssl
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from app.k8s.errors import (
    KubeError,
    KubeForbidden,
    KubeNotFound,
    KubeNotSignedIn,
    KubeRefused,
    KubeUnreachable,
)
from app.k8s.point import KubePoint

GROUP = "connection.access.sagemaker.amazonaws.com"
VERSION = "v1alpha1"
PLURAL = "raydashboardconnections"

MakeClient = Callable[[ssl.SSLContext | None], httpx.AsyncClient]
"""Makes a guarded client that trusts what it is given, or the public authorities."""


async def create_connection(
    point: KubePoint,
    make_client: MakeClient,
    *,
    namespace: str,
    name_prefix: str,
    spec: Mapping[str, str],
) -> str | None:
    """The URL that signs in, good for minutes and never to be stored or logged.

    None where the server gives none. Raises `KubeError`.
    """
    path = f"/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{PLURAL}"
    body = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "RayDashboardConnection",
        "metadata": {"generateName": name_prefix, "namespace": namespace},
        "spec": dict(spec),
    }
    answer = await _post(point, make_client, path, body)
    url = (answer.get("status") or {}).get("connectionUrl")
    return url if isinstance(url, str) and url else None


async def _post(
    point: KubePoint, make_client: MakeClient, path: str, body: Mapping[str, Any]
) -> dict[str, Any]:
    trust = ssl.create_default_context(cadata=point.ca) if point.ca else None
    headers = {"Authorization": f"Bearer {point.token}", "Accept": "application/json"}
    async with make_client(trust) as http:
        try:
            answer = await http.post(f"{point.server}{path}", json=body, headers=headers)
        except httpx.HTTPError as error:
            raise KubeUnreachable(point.server, str(error) or type(error).__name__) from error
    if not answer.is_success:
        raise _refusal(point.server, answer)
    try:
        found = answer.json()
    except ValueError as error:
        raise KubeUnreachable(point.server, "its answer is not JSON") from error
    if not isinstance(found, dict):
        raise KubeUnreachable(point.server, "its answer is no object")
    return found


def _refusal(server: str, answer: httpx.Response) -> KubeError:
    said = _said(answer)
    status = answer.status_code
    if status == httpx.codes.UNAUTHORIZED:
        return KubeNotSignedIn(f"The Kubernetes API at {server} refused our token.")
    if status == httpx.codes.FORBIDDEN:
        return KubeForbidden(f"The Kubernetes API at {server} says: {said}")
    if status == httpx.codes.NOT_FOUND:
        # A missing kind of resource answers in plain text, or names the group or the resource.
        lacks_api = said == "404 page not found" or "could not find the requested resource" in said
        return KubeNotFound(f"The Kubernetes API at {server} says: {said}", lacks_api=lacks_api)
    if answer.is_server_error or status == httpx.codes.TOO_MANY_REQUESTS:
        return KubeUnreachable(server, f"error {status}: {said}")
    return KubeRefused(f"The Kubernetes API at {server} says: {said}")


def _said(answer: httpx.Response) -> str:
    """The message of Kubernetes' `Status`, else the text; at most 300 characters."""
    try:
        text = str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        text = answer.text
    return " ".join(text.split())[:300] or f"error {answer.status_code}"
