"""Signing in to a HyperPod dashboard: a connection from Kubernetes, then a cookie of the gateway.

The two HTTP steps of the package toolkit-for-ray-on-sagemaker-ai, for one cluster with credentials
of its own. The package itself reads the process's one KUBECONFIG, and neither renews nor times out.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from urllib.parse import parse_qs

import httpx

from app.clock import utcnow
from app.k8s.dashboard import MakeClient, create_connection
from app.k8s.errors import (
    AwsRefused,
    KubeError,
    KubeForbidden,
    KubeNotFound,
    KubeNotSignedIn,
)
from app.k8s.point import KubeAccess, KubePoint
from app.ray.address import DEFAULT_NAMESPACE, ClusterAddress, HyperpodAddress
from app.ray.errors import (
    EndpointNotEnabled,
    NotTheCreator,
    RayClusterNotFound,
    RayError,
    RayNotSignedIn,
    RayUnreachable,
)
from app.ray.login import Login

COOKIE = "ray_session"
# The gateway's cookie lives for six hours at most.
COOKIE_LIFE = timedelta(hours=5)
# A cookie that is refused as soon as it was made will be refused again.
_SOONEST = timedelta(seconds=20)
_MOST_REDIRECT = 400


class HyperpodLogin:
    """Cookies of one dashboard, as `Logins`: kept, renewed in time, made by one task at a time.

    `http` is for the dashboard and closed with this; `make_client` is for the Kubernetes API.
    """

    def __init__(
        self,
        address: HyperpodAddress,
        kube: KubeAccess,
        http: httpx.AsyncClient,
        make_client: MakeClient,
        *,
        clock: Callable[[], datetime] = utcnow,
    ) -> None:
        self.address = str(address)
        self._where = address
        self._kube = kube
        self._http = http
        self._make_client = make_client
        self._clock = clock
        self._login: Login | None = None
        self._made_at = clock()
        self._signing_in: asyncio.Task[Login] | None = None

    async def current(self) -> Login:
        login = self._login
        if login is not None and self._clock() - self._made_at < COOKIE_LIFE:
            return login
        return await self._sign_in()

    async def renew(self, refused: Login) -> Login | None:
        login = self._login
        if login is not None and login is not refused:
            return login
        if login is not None and self._clock() - self._made_at < _SOONEST:
            return None
        return await self._sign_in()

    def not_signed_in(self) -> str:
        return (
            f"The dashboard of {self.address} refuses the session that it gave us. Wait a minute; "
            "if it goes on, look at the endpoint operator's log in namespace hyperpod-ray."
        )

    async def aclose(self) -> None:
        if self._signing_in is not None:
            self._signing_in.cancel()
        await self._kube.aclose()

    async def _sign_in(self) -> Login:
        """Whoever comes while somebody signs in already gets the same result."""
        if self._signing_in is None or self._signing_in.done():
            self._signing_in = asyncio.create_task(self._new_login())
            # Nobody may be left to take the error.
            self._signing_in.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._signing_in)

    async def _new_login(self) -> Login:
        url = await self._connect()
        base_url = f"https://{url.netloc.decode('ascii')}"
        cookie = await self._exchange(base_url, url)
        self._login = Login(base_url, {"Cookie": f"{COOKIE}={cookie}"})
        self._made_at = self._clock()
        return self._login

    async def _connect(self) -> httpx.URL:
        """The connection's URL. Raises `RayError`."""
        try:
            point = await self._kube.point()
            try:
                text = await self._create(point)
            except KubeNotSignedIn:
                text = await self._create(await self._kube.point(fresh=True))
        except KubeError as error:
            raise self._translated(error) from error
        url = _url(text) if text else None
        if url is None:
            raise EndpointNotEnabled(self.address)
        return url

    async def _create(self, point: KubePoint) -> str | None:
        where = self._where
        if isinstance(where, ClusterAddress):
            namespace, prefix, spec = where.namespace, where.cluster, {"clusterName": where.cluster}
        else:
            namespace, prefix, spec = DEFAULT_NAMESPACE, "endpoint", {"endpoint": where.host}
        return await create_connection(
            point, self._make_client, namespace=namespace, name_prefix=f"{prefix}-", spec=spec
        )

    def _translated(self, error: KubeError) -> RayError:
        if isinstance(error, KubeForbidden):
            return NotTheCreator(self.address, error.message)
        if isinstance(error, KubeNotFound):
            if error.lacks_api:
                return EndpointNotEnabled(self.address)
            return RayClusterNotFound(self.address)
        if isinstance(error, KubeNotSignedIn):
            fix = "Give the cluster new credentials on its page, for somebody whom EKS lets in."
            return RayNotSignedIn(f"{error.message} {fix}")
        if isinstance(error, AwsRefused):
            return RayNotSignedIn(error.message)
        return RayUnreachable(self.address, error.message)

    async def _exchange(self, base_url: str, url: httpx.URL) -> str:
        """The cookie for the token in the URL, which works once. Raises `RayError`."""
        [token] = parse_qs(url.query.decode("ascii")).get("token") or [""]
        try:
            # The token is a bearer secret: it goes nowhere but to the host it was made for.
            answer = await self._http.get(f"{base_url}/bearer-auth", params={"token": token})
        except httpx.HTTPError as error:
            cause = str(error) or type(error).__name__
            raise RayUnreachable(self.address, f"signing in at {url.host}: {cause}") from error
        if answer.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            raise RayNotSignedIn(
                f"The dashboard of {self.address} refused the token that Kubernetes gave for it. "
                "Try again; if it goes on, the clocks of the cluster's machines may differ."
            )
        cookie = answer.cookies.get(COOKIE)
        if answer.status_code >= _MOST_REDIRECT or not cookie:
            what = f"error {answer.status_code}" if answer.is_error else "no session was given"
            raise RayUnreachable(self.address, f"signing in at {url.host}: {what}")
        return cookie


def _url(text: str) -> httpx.URL | None:
    """The connection's URL, or None for one without host or token."""
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        return None
    tokens = parse_qs(url.query.decode("ascii", "replace")).get("token", [])
    return url if url.host and len(tokens) == 1 else None
