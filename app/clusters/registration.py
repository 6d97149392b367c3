"""What somebody says of a cluster, as checked: address, credential, limit. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from app.errors import Invalid, Problem
from app.k8s.errors import BadKubeconfig
from app.k8s.kubeconfig import checked_authority, read_kubeconfig
from app.k8s.point import ACCESS_KEY, EKS_NAME, REGION, ROLE_ARN
from app.models import Cluster, ClusterKind, CredentialKind
from app.ray.address import (
    BadRayAddress,
    EmbeddedAddress,
    HttpAddress,
    RayAddress,
    parse_address,
)

NAME_LENGTH = 100
MOST_RUNS = 1000
_FITTING = {
    ClusterKind.HTTP: (CredentialKind.NONE, CredentialKind.TOKEN),
    ClusterKind.HYPERPOD: (CredentialKind.AWS, CredentialKind.KUBECONFIG),
}
_HAVE_SECRET = (CredentialKind.TOKEN, CredentialKind.KUBECONFIG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A cluster as typed. `secret` is a bearer token or an AWS secret access key.

    When a cluster is changed, an empty `secret` or `kubeconfig` keeps what is stored.
    """

    name: str
    address: str
    credential: str = CredentialKind.NONE
    secret: str = field(default="", repr=False)
    eks_cluster: str = ""
    region: str = ""
    role_arn: str = ""
    access_key_id: str = ""
    kubeconfig: str = field(default="", repr=False)
    ca: str = ""
    max_running_runs: str = "1"


@dataclass(frozen=True, slots=True)
class Registration:
    """What is stored. `secret` None: the one that is stored stays; empty: there is none."""

    name: str
    kind: ClusterKind
    address: str
    credential: CredentialKind
    access: dict[str, Any]
    max_running_runs: int
    secret: str | None = field(repr=False)


class _Problems(list[Problem]):
    def add(self, field: str, message: str, rule: str = "") -> None:
        self.append(Problem(field, rule or field, message))


def wish_of(cluster: Cluster) -> Wish:
    """The cluster as it is stored, with its secrets kept."""
    stored = {name: str(text) for name, text in cluster.access.items()}
    names = ("eks_cluster", "region", "role_arn", "access_key_id")
    return Wish(
        name=cluster.name,
        address=cluster.address,
        credential=cluster.credential,
        ca=stored.get("gateway_ca", ""),
        max_running_runs=str(cluster.max_running_runs),
        **{name: stored.get(name, "") for name in names},
    )


def checked(wish: Wish, before: Cluster | None = None) -> Registration:
    """Raises `Invalid` with a problem for each field that cannot be accepted."""
    problems = _Problems()
    name = _name(wish.name, problems)
    address = _address(wish.address, problems)
    kind = ClusterKind.HTTP if isinstance(address, HttpAddress) else ClusterKind.HYPERPOD
    credential = _credential(wish, kind, problems)
    access, secret = _READERS[credential](wish, before, problems)
    if before is not None and secret is None and credential is CredentialKind.TOKEN:
        _require_same(before, str(address), problems)
    if wish.ca.strip():
        access["gateway_ca"] = _authority(wish.ca.strip(), problems)
    limit = _limit(wish.max_running_runs, problems)
    if problems:
        raise Invalid("this cluster cannot be stored", problems)
    return Registration(name, kind, str(address), credential, access, limit, secret)


def _name(text: str, problems: _Problems) -> str:
    name = " ".join(text.split())
    if not name:
        problems.add("name", "Give the cluster a name.")
    elif len(name) > NAME_LENGTH or not name.isprintable():
        problems.add("name", f"A name has at most {NAME_LENGTH} printable characters.")
    return name


def _address(text: str, problems: _Problems) -> RayAddress | None:
    try:
        address = parse_address(text)
    except BadRayAddress as error:
        problems.add("address", str(error))
        return None
    if isinstance(address, EmbeddedAddress):
        problems.add("address", "There is one embedded cluster, which `skydeck up` starts.")
    return address


def _credential(wish: Wish, kind: ClusterKind, problems: _Problems) -> CredentialKind:
    fitting = _FITTING[kind]
    if wish.credential in fitting:
        return CredentialKind(wish.credential)
    if not any(problem.field == "address" for problem in problems):
        wanted = "a token, or none" if kind is ClusterKind.HTTP else "AWS keys, or a kubeconfig"
        what = "a dashboard's URL" if kind is ClusterKind.HTTP else "a sagemaker_ray:// address"
        problems.add("credential", f"For {what}, choose {wanted}.")
    return CredentialKind.NONE


def _read_none(
    _wish: Wish, _before: Cluster | None, _problems: _Problems
) -> tuple[dict[str, Any], str]:
    return {}, ""


def _read_token(
    wish: Wish, before: Cluster | None, problems: _Problems
) -> tuple[dict[str, Any], str | None]:
    token = wish.secret.strip()
    if not token and not _has(before, CredentialKind.TOKEN):
        problems.add("secret", "Type the token.")
    elif not token.isascii() or not token.isprintable() or " " in token:
        problems.add("secret", "A token is one word of ASCII characters.")
    return {}, token or None


def _require_same(before: Cluster, address: str, problems: _Problems) -> None:
    if before.address != address:
        # Whoever cannot read the token shall not have it sent to another host.
        problems.add("secret", "The address is another one: type its token.")


def _read_aws(
    wish: Wish, before: Cluster | None, problems: _Problems
) -> tuple[dict[str, Any], str | None]:
    access = {
        "eks_cluster": wish.eks_cluster.strip(),
        "region": wish.region.strip(),
        "role_arn": wish.role_arn.strip(),
        "access_key_id": wish.access_key_id.strip(),
    }
    if not EKS_NAME.fullmatch(access["eks_cluster"]):
        problems.add("eks_cluster", "Type the name of the EKS cluster, as AWS shows it.")
    if not REGION.fullmatch(access["region"]):
        problems.add("region", "Type the region, such as us-west-2.")
    if access["role_arn"] and not ROLE_ARN.fullmatch(access["role_arn"]):
        problems.add("role_arn", "A role is written arn:aws:iam::123456789012:role/NAME.")
    key, secret = access["access_key_id"], wish.secret.strip()
    if key.startswith("ASIA"):
        problems.add(
            "access_key_id",
            "These keys end within hours. Type those of a user, or none, for this machine's role.",
        )
    elif key and not ACCESS_KEY.fullmatch(key):
        problems.add("access_key_id", "An access key id begins with AKIA.")
    elif secret and not key:
        problems.add("access_key_id", "Type the id that belongs to the secret access key.")
    stored = before.access if before is not None and _has(before, CredentialKind.AWS) else {}
    is_same = stored.get("access_key_id") == key
    if key and not secret and not is_same:
        problems.add("secret", "Type the secret access key that belongs to the id.")
    return access, secret or (None if key else "")


def _read_kubeconfig(
    wish: Wish, before: Cluster | None, problems: _Problems
) -> tuple[dict[str, Any], str | None]:
    if not wish.kubeconfig.strip():
        if before is not None and _has(before, CredentialKind.KUBECONFIG):
            return {name: before.access[name] for name in ("server", "ca")}, None
        problems.add("kubeconfig", "Choose a kubeconfig file, or paste its text.")
        return {}, None
    try:
        point = read_kubeconfig(wish.kubeconfig)
    except BadKubeconfig as error:
        problems.add("kubeconfig", str(error))
        return {}, None
    return {"server": point.server, "ca": point.ca}, point.token


def _has(before: Cluster | None, credential: CredentialKind) -> bool:
    return before is not None and before.credential is credential


def _authority(text: str, problems: _Problems) -> str:
    try:
        return checked_authority(text)
    except ValueError as error:
        problems.add("ca", str(error))
        return ""


def _limit(text: str, problems: _Problems) -> int:
    number = int(text) if text.strip().isascii() and text.strip().isdigit() else 0
    if not 1 <= number <= MOST_RUNS:
        problems.add("max_running_runs", f"Type a number from 1 to {MOST_RUNS:,}.")
    return number


_Reader = Callable[[Wish, Cluster | None, _Problems], tuple[dict[str, Any], str | None]]
_READERS: dict[CredentialKind, _Reader] = {
    CredentialKind.NONE: _read_none,
    CredentialKind.TOKEN: _read_token,
    CredentialKind.AWS: _read_aws,
    CredentialKind.KUBECONFIG: _read_kubeconfig,
}
