"""An EKS cluster by its name: where it is (`DescribeCluster`), and tokens that we mint for it.

A token is a pre-signed STS `GetCallerIdentity` URL, as `aws eks get-token` makes it (EKS user
guide, "Cluster authentication"; kubernetes-sigs/aws-iam-authenticator). botocore signs; the
requests themselves go through our own guarded client, with its time-outs and checked addresses.

Only the creator of a Ray cluster may open its dashboard, and the creator is the role's whole ARN
with the session name in it. So the name of our sessions is a setting that stays the same.
"""

import asyncio
import base64
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import httpx
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from app.clock import utcnow
from app.k8s.dashboard import MakeClient
from app.k8s.errors import AwsRefused, KubeUnreachable
from app.k8s.point import EksCluster, KubePoint

_TOKEN_HEAD = "k8s-aws-v1."  # noqa: S105 - how every such token begins
_PRESIGNED_SECONDS = 60
# EKS takes a token for 15 minutes from its signing.
_TOKEN_LIFE = timedelta(minutes=10)
_ROLE_SECONDS = 3600
_ROLE_MARGIN = timedelta(minutes=5)
_CHAIN_SECONDS = 15.0


class EksAccess:
    """The Kubernetes API of an EKS cluster, as `KubeAccess`. Not for several event loops."""

    def __init__(
        self,
        cluster: EksCluster,
        make_client: MakeClient,
        *,
        session_name: str,
        clock: Callable[[], datetime] = utcnow,
    ) -> None:
        self._cluster = cluster
        self._http = make_client(None)
        self._session_name = session_name
        self._clock = clock
        self._role: tuple[Credentials, datetime] | None = None
        self._place: tuple[str, str] | None = None
        self._minted: tuple[str, datetime] | None = None

    async def point(self, *, fresh: bool = False) -> KubePoint:
        """Raises `AwsRefused` with what AWS said, `KubeUnreachable` without a usable answer."""
        if fresh:
            self._role = self._place = self._minted = None
        if self._minted is None or self._clock() > self._minted[1]:
            credentials = await self._credentials()
            token = mint_token(self._cluster.name, self._cluster.region, credentials)
            self._minted = (token, self._clock() + _TOKEN_LIFE)
        if self._place is None:
            self._place = await self._describe(await self._credentials())
        server, ca = self._place
        return KubePoint(server, ca, self._minted[0])

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _credentials(self) -> Credentials:
        cluster = self._cluster
        if self._role is not None and self._clock() < self._role[1]:
            return self._role[0]
        base = (
            Credentials(cluster.access_key_id, cluster.secret_access_key)
            if cluster.access_key_id
            else await _own_credentials()
        )
        if not cluster.role_arn:
            return base
        self._role = await self._assume(base)
        return self._role[0]

    async def _assume(self, base: Credentials) -> tuple[Credentials, datetime]:
        """The role's own keys, and until when they are used."""
        form = {
            "Action": "AssumeRole",
            "Version": "2011-06-15",
            "RoleArn": self._cluster.role_arn,
            "RoleSessionName": self._session_name,
            "DurationSeconds": str(_ROLE_SECONDS),
        }
        url = f"https://{_host('sts', self._cluster.region)}/"
        request = AWSRequest("POST", url, data=str(httpx.QueryParams(form)))
        request.headers["Content-Type"] = "application/x-www-form-urlencoded"
        SigV4Auth(base, "sts", self._cluster.region).add_auth(request)
        answer = await self._send(request)
        body = _parsed_role({"body": answer.content, "headers": {}, "status_code": 200})
        if "Error" in body or "Credentials" not in body:
            raise self._refused("assume the role", body.get("Error", {}).get("Message", ""))
        keys = body["Credentials"]
        found = Credentials(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"])
        return found, keys["Expiration"] - _ROLE_MARGIN

    async def _describe(self, credentials: Credentials) -> tuple[str, str]:
        """Server and authority of the cluster's API."""
        url = f"https://{_host('eks', self._cluster.region)}/clusters/{self._cluster.name}"
        request = AWSRequest("GET", url)
        SigV4Auth(credentials, "eks", self._cluster.region).add_auth(request)
        answer = await self._send(request)
        try:
            found = answer.json()
            server = str(found["cluster"]["endpoint"]).rstrip("/")
            data = found["cluster"]["certificateAuthority"]["data"]
            return server, base64.b64decode(data).decode("ascii")
        except (ValueError, KeyError, TypeError) as error:
            raise KubeUnreachable(
                self._cluster.name, "AWS does not say yet where the EKS cluster is"
            ) from error

    async def _send(self, request: AWSRequest) -> httpx.Response:
        prepared = request.prepare()
        try:
            answer = await self._http.request(
                prepared.method,
                prepared.url,
                headers=dict(prepared.headers.items()),
                content=prepared.body,
            )
        except httpx.HTTPError as error:
            cause = str(error) or type(error).__name__
            raise KubeUnreachable(httpx.URL(prepared.url).host, cause) from error
        if answer.is_server_error or answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
            raise KubeUnreachable(httpx.URL(prepared.url).host, f"error {answer.status_code}")
        if not answer.is_success:
            what = "assume the role" if request.method == "POST" else "describe the EKS cluster"
            raise self._refused(what, _message(answer))
        return answer

    def _refused(self, what: str, said: str) -> AwsRefused:
        said = " ".join(said.split())[:300] or "nothing more"
        return AwsRefused(
            f"AWS does not let us {what} {self._cluster.name} in {self._cluster.region}: {said}. "
            "Check the keys, the role and the region on the cluster's page."
        )


def mint_token(cluster: str, region: str, credentials: Credentials) -> str:
    """A bearer token of the EKS cluster for whoever the credentials are."""
    query = "Action=GetCallerIdentity&Version=2011-06-15"
    request = AWSRequest("GET", f"https://{_host('sts', region)}/?{query}")
    request.headers["x-k8s-aws-id"] = cluster
    SigV4QueryAuth(credentials, "sts", region, expires=_PRESIGNED_SECONDS).add_auth(request)
    return _TOKEN_HEAD + base64.urlsafe_b64encode(request.url.encode()).decode().rstrip("=")


def _host(service: str, region: str) -> str:
    return f"{service}.{region}.amazonaws.com" + (".cn" if region.startswith("cn-") else "")


async def _own_credentials() -> Credentials:
    """Those of this machine: Pod Identity, instance profile, environment, profile."""
    try:
        async with asyncio.timeout(_CHAIN_SECONDS):
            found = await asyncio.to_thread(_search)
    except TimeoutError:
        found = None
    if found is None:
        raise AwsRefused(
            "This machine has no AWS role of its own. Give Skydeck one (EKS Pod Identity, an "
            "instance profile), or type an access key on the cluster's page."
        )
    return found


def _search() -> Credentials | None:
    # Imported late: few clusters need it, and it is large.
    import boto3
    from botocore.exceptions import BotoCoreError

    try:
        found = boto3.Session().get_credentials()
        frozen = found.get_frozen_credentials() if found else None
    except BotoCoreError:
        return None
    if frozen is None:
        return None
    return Credentials(frozen.access_key, frozen.secret_key, frozen.token)


@cache
def _role_parser() -> tuple[Any, Any]:
    import botocore.session
    from botocore.parsers import create_parser

    model = botocore.session.Session().get_service_model("sts")
    return create_parser("query"), model.operation_model("AssumeRole").output_shape


def _parsed_role(answer: dict[str, Any]) -> dict[str, Any]:
    from botocore.parsers import ResponseParserError

    parser, shape = _role_parser()
    try:
        found: dict[str, Any] = parser.parse(answer, shape)
    except ResponseParserError:
        return {}
    return found


def _message(answer: httpx.Response) -> str:
    try:
        return str(answer.json().get("message", ""))
    except (ValueError, AttributeError):
        pass
    body = {"body": answer.content, "headers": {}, "status_code": answer.status_code}
    return str(_parsed_role(body).get("Error", {}).get("Message", ""))
