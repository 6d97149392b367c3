"""A HyperPod cluster on this machine: EKS API, AWS's own APIs, and the gateway of the dashboard.

Two TLS servers of one private authority. `api` is the Kubernetes API (it makes a
`RayDashboardConnection` and answers its URL at once), and AWS's EKS and STS under their names.
`gateway` turns `/bearer-auth` into a session cookie and passes everything that has one on to a Ray
dashboard, a real one or `FakeRay`. What both do was recorded with the package
toolkit-for-ray-on-sagemaker-ai 1.0.4.
"""

import asyncio
import base64
import contextlib
import copy
import itertools
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import httpcore
import httpx
import trustme
from aiohttp import ClientSession, WSMsgType, web

from app.k8s.dashboard import MakeClient
from app.k8s.point import KubePoint
from app.outgoing.client import guarded_client
from app.ray.connect import LIMITS
from tests.fakes.dns import FakeDns
from tests.outgoing.conftest import Rules

COOKIE = "ray_session"
KUBE_TOKEN = "kube-token-5f3a9c"
REGION, EKS_NAME = "us-west-2", "train-eks"
ROLE_ARN = "arn:aws:iam::123456789012:role/trainer"
ACCESS_KEY, SECRET_KEY = "AKIAEXAMPLE123456", "uW9secret/key+example"
_AWS_ADDRESS = "52.94.0.1"
_CONNECTIONS = "/apis/connection.access.sagemaker.amazonaws.com/v1alpha1/namespaces/{ns}/"
_NOT_PASSED = {"host", "cookie", "content-length", "transfer-encoding", "connection"}
_MOST = 200 * 1024**2


class SignedOut(StrEnum):
    """How the gateway answers without a session; which one the real one takes is not known."""

    UNAUTHORIZED = "401"
    FORBIDDEN = "403"
    REDIRECT = "redirect"
    PAGE = "page"


@dataclass(frozen=True)
class Seen:
    """A request as it came: `secret` is its bearer token or session cookie."""

    server: str
    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    secret: str
    content_type: str = ""

    @property
    def place(self) -> tuple[str, str]:
        return self.method, self.path


@dataclass
class FakeHyperpod:
    """`clusters` are (namespace, name). Tests change the fields while it serves.

    `refuses_kube`: status and message of the Kubernetes API instead of a connection. `cuts`: so
    many next requests at the gateway lose their connection, before Ray sees them or, `cuts_late`,
    after. `hangs`: no request at the gateway is answered.
    """

    upstream: str
    upstream_token: str | None = None
    clusters: set[tuple[str, str]] = field(default_factory=lambda: {("team-a", "skyrl")})
    kube_tokens: set[str] = field(default_factory=lambda: {KUBE_TOKEN})
    refuses_kube: tuple[int, str] | None = None
    gives_url: bool = True
    signed_out: SignedOut = SignedOut.UNAUTHORIZED
    cuts: int = 0
    cuts_late: bool = False
    hangs: bool = False
    sessions: set[str] = field(default_factory=set)
    tokens: set[str] = field(default_factory=set)
    seen: list[Seen] = field(default_factory=list)
    api_url: str = ""
    gateway_host: str = ""
    assumed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._authority = trustme.CA()
        self._numbers = itertools.count(1)
        self._released = asyncio.Event()
        self._http: ClientSession | None = None

    @property
    def ca(self) -> str:
        return self._authority.cert_pem.bytes().decode()

    @property
    def point(self) -> KubePoint:
        return KubePoint(self.api_url, self.ca, KUBE_TOKEN)

    @property
    def kubeconfig(self) -> str:
        """As `aws eks update-kubeconfig` writes it, with a token instead of a program."""
        data = base64.b64encode(self.ca.encode()).decode()
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "here",
                "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [
                    {
                        "name": "c",
                        "cluster": {"server": self.api_url, "certificate-authority-data": data},
                    }
                ],
                "users": [{"name": "u", "user": {"token": KUBE_TOKEN}}],
            }
        )

    def places(self, server: str = "gateway") -> list[tuple[str, str]]:
        return [each.place for each in self.seen if each.server == server]

    def expire(self) -> None:
        """Every session ends now."""
        self.sessions.clear()

    def make_client(self, *rules: str) -> MakeClient:
        """Guarded clients for whom AWS's names lead here; they may call this machine."""
        trust = ssl.create_default_context(cadata=self.ca)
        names = (f"eks.{REGION}.amazonaws.com", f"sts.{REGION}.amazonaws.com")
        dns = FakeDns({name: [[_AWS_ADDRESS]] for name in names})
        network = _Here(int(self.api_url.rpartition(":")[2]))
        allowed = Rules(*(rules or ("127.0.0.1",)))

        def make(tls: ssl.SSLContext | None) -> httpx.AsyncClient:
            return guarded_client(
                allowed, limits=LIMITS, resolver=dns, network=network, tls=tls or trust
            )

        return make

    @contextlib.asynccontextmanager
    async def serve(self) -> AsyncIterator["FakeHyperpod"]:
        self._http = ClientSession(auto_decompress=False)
        names = (f"eks.{REGION}.amazonaws.com", f"sts.{REGION}.amazonaws.com")
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._authority.issue_cert("127.0.0.1", *names).configure_cert(tls)
        runners = []
        try:
            for application in (self._api(), self._gateway()):
                runner = web.AppRunner(application, shutdown_timeout=0.5)
                await runner.setup()
                runners.append(runner)
                await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
            ports = [runner.addresses[0][1] for runner in runners]
            self.api_url = f"https://127.0.0.1:{ports[0]}"
            self.gateway_host = f"127.0.0.1:{ports[1]}"
            yield self
        finally:
            self._released.set()
            for runner in runners:
                await runner.cleanup()
            await self._http.close()

    def _api(self) -> web.Application:
        application = web.Application()
        path = _CONNECTIONS + "raydashboardconnections"
        application.router.add_post(path, self._connection)
        application.router.add_get("/clusters/{name}", self._describe)
        application.router.add_post("/", self._assume)
        return application

    def _gateway(self) -> web.Application:
        application = web.Application(client_max_size=_MOST)
        application.router.add_get("/bearer-auth", self._bearer_auth)
        application.router.add_route("*", "/{path:.*}", self._pass_on)
        return application

    async def _connection(self, request: web.Request) -> web.Response:
        body = await request.json()
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self._note("api", request, body, token)
        if not self._knows(token):
            return _status(401, "Unauthorized")
        if self.refuses_kube is not None:
            return _status(*self.refuses_kube)
        spec, namespace = body["spec"], request.match_info["ns"]
        is_known = (namespace, spec.get("clusterName")) in self.clusters
        if not is_known and spec.get("endpoint") != self.gateway_host:
            return _status(404, f'rayclusters.ray.io "{spec.get("clusterName")}" not found')
        name = f"{body['metadata']['generateName']}{next(self._numbers):05}"
        body["metadata"]["name"] = name
        if self.gives_url:
            once = f"jwt-{name}"
            self.tokens.add(once)
            url = f"https://{self.gateway_host}/bearer-auth?token={once}"
            body["status"] = {"connectionUrl": url}
        return web.json_response(body, status=201)

    def _knows(self, token: str) -> bool:
        if not token.startswith("k8s-aws-v1."):
            return token in self.kube_tokens
        packed = token.removeprefix("k8s-aws-v1.")
        url = httpx.URL(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)).decode())
        key = url.params["X-Amz-Credential"].partition("/")[0]
        is_role = url.params.get("X-Amz-Security-Token") == "role-session"
        return (
            url.host == f"sts.{REGION}.amazonaws.com"
            and url.params["X-Amz-SignedHeaders"] == "host;x-k8s-aws-id"
            and (is_role or key == ACCESS_KEY)
        )

    async def _describe(self, request: web.Request) -> web.Response:
        self._note("aws", request, None, "")
        if not request.headers.get("Authorization", "").startswith("AWS4-HMAC-SHA256 "):
            return web.json_response({"message": "Missing Authentication Token"}, status=403)
        if request.match_info["name"] != EKS_NAME:
            name = request.match_info["name"]
            return web.json_response({"message": f"No cluster found for name: {name}."}, status=404)
        data = base64.b64encode(self.ca.encode()).decode()
        cluster = {"endpoint": self.api_url, "certificateAuthority": {"data": data}}
        return web.json_response({"cluster": cluster})

    async def _assume(self, request: web.Request) -> web.Response:
        form = await request.post()
        self._note("aws", request, dict(form), "")
        head = 'xmlns="https://sts.amazonaws.com/doc/2011-06-15/"'
        if form["RoleArn"] != ROLE_ARN or ACCESS_KEY not in request.headers["Authorization"]:
            text = (
                f"<ErrorResponse {head}><Error><Code>AccessDenied</Code><Message>not authorized to "
                f"perform: sts:AssumeRole</Message></Error></ErrorResponse>"
            )
            return web.Response(text=text, status=403, content_type="text/xml")
        self.assumed.append(str(form["RoleSessionName"]))
        text = (
            f"<AssumeRoleResponse {head}><AssumeRoleResult><Credentials>"
            "<AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>role-key</SecretAccessKey>"
            "<SessionToken>role-session</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>"
            "</Credentials></AssumeRoleResult></AssumeRoleResponse>"
        )
        return web.Response(text=text, content_type="text/xml")

    async def _bearer_auth(self, request: web.Request) -> web.Response:
        token = request.query.get("token", "")
        self._note("gateway", request, None, "")
        if token not in self.tokens:
            return web.Response(status=401, text="invalid token")
        self.tokens.remove(token)
        session = f"session-{next(self._numbers):05}-9d2c7b1e"
        self.sessions.add(session)
        answer = web.Response(status=302, headers={"Location": "/"})
        answer.set_cookie(COOKIE, session, httponly=True, secure=True, path="/")
        return answer

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        session = request.cookies.get(COOKIE, "")
        self._note("gateway", request, _decoded(body), session)
        if self.hangs:
            await self._released.wait()
        if self.cuts > 0:
            self.cuts -= 1
            if self.cuts_late:
                await self._answer(request, body)
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if session not in self.sessions:
            return self._signed_out()
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._websocket(request)
        return await self._answer(request, body)

    def _signed_out(self) -> web.Response:
        if self.signed_out is SignedOut.REDIRECT:
            return web.Response(status=302, headers={"Location": "https://login.example.com/"})
        if self.signed_out is SignedOut.PAGE:
            return web.Response(text="<h1>Sign in</h1>", content_type="text/html")
        return web.Response(status=int(self.signed_out), text="no session")

    async def _answer(self, request: web.Request, body: bytes) -> web.Response:
        assert self._http is not None
        async with self._http.request(
            request.method,
            self.upstream + request.path_qs,
            data=body or None,
            headers=self._headers(request),
            allow_redirects=False,
        ) as answer:
            content = await answer.read()
        kept = ("content-type", "content-encoding")
        headers = {name: answer.headers[name] for name in kept if name in answer.headers}
        return web.Response(body=content, status=answer.status, headers=headers)

    async def _websocket(self, request: web.Request) -> web.WebSocketResponse:
        assert self._http is not None
        here = web.WebSocketResponse()
        await here.prepare(request)
        url = self.upstream + request.path_qs
        async with self._http.ws_connect(url, headers=self._own()) as there:
            async for message in there:
                if message.type is WSMsgType.TEXT:
                    await here.send_str(message.data)
        await here.close()
        return here

    def _headers(self, request: web.Request) -> dict[str, str]:
        passed = {k: v for k, v in request.headers.items() if k.lower() not in _NOT_PASSED}
        return passed | self._own()

    def _own(self) -> dict[str, str]:
        token = self.upstream_token
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _note(self, server: str, request: web.Request, body: Any, secret: str) -> None:
        query = dict(request.query)
        body = copy.deepcopy(body)
        kind = request.headers.get("Content-Type", "")
        self.seen.append(Seen(server, request.method, request.path, query, body, secret, kind))


class _Here(httpcore.AsyncNetworkBackend):
    """Connects to this machine alone; AWS is at one of its ports."""

    def __init__(self, aws_port: int) -> None:
        self._aws_port = aws_port
        self._real = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.AsyncNetworkStream:
        if host == _AWS_ADDRESS:
            port = self._aws_port
        elif host != "127.0.0.1":
            raise httpcore.ConnectError("nobody answers")
        return await self._real.connect_tcp("127.0.0.1", port, timeout=timeout)


def _status(code: int, message: str) -> web.Response:
    if message == "404 page not found":
        return web.Response(status=code, text=message)
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message}
    return web.json_response(body, status=code)


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body
