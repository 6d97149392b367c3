"""Rows of clusters as their pages show them, and the form's fields."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from app.clusters.contexts import (
    CheckCard,
    ClusterCard,
    ClusterForm,
    FindingRow,
    NodeRow,
)
from app.clusters.registration import Wish
from app.models import Cluster, ClusterCheck, ClusterKind, CredentialKind
from app.ray.address import EXAMPLES
from app.runs.queue import ClusterLoad
from app.web.cluster_line import cluster_line
from app.web.forms import FormField, control_id, group_problems

KINDS = {
    ClusterKind.EMBEDDED: "embedded",
    ClusterKind.HTTP: "Ray dashboard",
    ClusterKind.HYPERPOD: "SageMaker HyperPod",
}
CREDENTIALS = {
    CredentialKind.NONE: "none",
    CredentialKind.TOKEN: "bearer token",
    CredentialKind.AWS: "AWS keys or role, for an EKS cluster",
    CredentialKind.KUBECONFIG: "kubeconfig with a token",
}
_FACTS = (
    ("eks_cluster", "EKS cluster"),
    ("region", "Region"),
    ("role_arn", "Role"),
    ("access_key_id", "Access key"),
    ("server", "Kubernetes API"),
)
_SECRETS = {CredentialKind.TOKEN: "token", CredentialKind.AWS: "secret_access_key"}


def card(cluster: Cluster, load: ClusterLoad) -> ClusterCard:
    restarted = cluster.details.get("head_restarted_at")
    return ClusterCard(
        line=cluster_line(cluster, load),
        kind=KINDS[cluster.kind],
        address=cluster.address,
        ray_version=str(cluster.details.get("ray_version", "")),
        head_restarted_at=datetime.fromisoformat(restarted) if restarted else None,
        nodes=[_node(row) for row in cluster.details.get("nodes", [])],
        is_embedded=cluster.kind is ClusterKind.EMBEDDED,
        runs_member_code=cluster.runs_member_code,
        shows_secrets=cluster.shows_secrets,
    )


def facts(cluster: Cluster) -> list[tuple[str, str]]:
    """The credential in words; no secret."""
    found = [("Credential", CREDENTIALS[cluster.credential])]
    stored = [(label, str(cluster.access.get(name, ""))) for name, label in _FACTS]
    return found + [(label, text) for label, text in stored if text]


def check_card(check: ClusterCheck) -> CheckCard:
    return CheckCard(
        asked_by=check.asked_by,
        created_at=check.created_at,
        ended_at=check.ended_at,
        findings=[FindingRow(row["name"], row["ok"], row["message"]) for row in check.findings],
    )


def form(
    wish: Wish,
    cluster: Cluster | None,
    problems: Mapping[str, str] | None = None,
) -> ClusterForm:
    """The form of a new cluster, or of one that is changed; what was typed as a secret is gone."""
    said = dict(problems or {})
    secret = _SECRETS.get(_kind(wish.credential))
    if "secret" in said and secret:
        said[secret] = said.pop("secret")
    fields = _fields(wish, said)
    credential = _credential(wish, said)
    parts = _parts(wish, cluster, said)
    more = _more(wish, said)
    every = [*fields, credential, *(f for _, _, part in parts for f in part), *more]
    file_problem = said.get("kubeconfig", "")
    summary = group_problems({n: m for n, m in said.items() if n != "kubeconfig"}, every)
    if file_problem:
        summary.append((control_id("kubeconfig"), file_problem))
    is_new = cluster is None
    url = "/clusters/new" if cluster is None else f"/clusters/{cluster.slug}"
    return ClusterForm(
        title="Add a cluster" if cluster is None else f"Change {cluster.name}",
        action_url=url if is_new else f"{url}/edit",
        back_url="/clusters" if is_new else url,
        button="Add cluster" if is_new else "Save",
        fields=fields,
        credential=credential,
        parts=parts,
        kubeconfig_problem=file_problem,
        keeps_kubeconfig=_has(cluster, CredentialKind.KUBECONFIG),
        more=more,
        problems=summary,
    )


def _fields(wish: Wish, said: Mapping[str, str]) -> list[FormField]:
    return [
        FormField("name", "Name", "text", wish.name, problem=said.get("name", "")),
        FormField(
            "address",
            "Address",
            "text",
            wish.address,
            help=f"{EXAMPLES}. A host that is not public must be allowed under Outgoing hosts.",
            placeholder="sagemaker_ray://skyrl/team-a",
            problem=said.get("address", ""),
        ),
    ]


def _credential(wish: Wish, said: Mapping[str, str]) -> FormField:
    return FormField(
        "credential",
        "Credential",
        "choice",
        wish.credential,
        help="A dashboard's URL takes a token or none, a sagemaker_ray:// address one of the "
        "other two.",
        choices=[kind.value for kind in CredentialKind],
        labels={kind.value: words[:1].upper() + words[1:] for kind, words in _CHOICES.items()},
        problem=said.get("credential", ""),
    )


_CHOICES = CREDENTIALS | {CredentialKind.AWS: "AWS keys or role"}


def _parts(
    wish: Wish, cluster: Cluster | None, said: Mapping[str, str]
) -> list[tuple[str, str, list[FormField]]]:
    return [
        ("token", "Token", [_hidden("token", "Bearer token", cluster, CredentialKind.TOKEN, said)]),
        ("aws", "AWS", _aws(wish, cluster, said)),
    ]


def _aws(wish: Wish, cluster: Cluster | None, said: Mapping[str, str]) -> list[FormField]:
    texts = (
        ("eks_cluster", "EKS cluster", "The name that AWS shows.", "train-eks"),
        ("region", "Region", "", "us-west-2"),
        (
            "role_arn",
            "Role to assume",
            "Who creates a Ray cluster is the only one to open it: take the role that does. "
            "Empty, none is assumed.",
            "arn:aws:iam::123456789012:role/trainer",
        ),
        (
            "access_key_id",
            "Access key id",
            "Of an AWS user. Empty, this machine's own role is taken.",
            "",
        ),
    )
    fields = [
        FormField(
            name,
            label,
            "text",
            getattr(wish, name),
            help=text,
            placeholder=example,
            problem=said.get(name, ""),
        )
        for name, label, text, example in texts
    ]
    key = _hidden("secret_access_key", "Secret access key", cluster, CredentialKind.AWS, said)
    return [*fields, key]


def _hidden(
    name: str,
    label: str,
    cluster: Cluster | None,
    kind: CredentialKind,
    said: Mapping[str, str],
) -> FormField:
    is_kept = _has(cluster, kind) and cluster is not None and cluster.secret_name is not None
    text = "Empty keeps the one that is stored." if is_kept else "It is encrypted, never shown."
    return FormField(name, label, "password", "", help=text, problem=said.get(name, ""))


def _more(wish: Wish, said: Mapping[str, str]) -> list[FormField]:
    return [
        FormField(
            "max_running_runs",
            "Runs at a time",
            "number",
            wish.max_running_runs,
            problem=said.get("max_running_runs", ""),
        ),
        FormField(
            "ca",
            "Certificate authority",
            "prose",
            wish.ca,
            help="In PEM, if the dashboard's certificate is of a private one.",
            problem=said.get("ca", ""),
        ),
    ]


def _kind(text: str) -> CredentialKind:
    return CredentialKind(text) if text in list(CredentialKind) else CredentialKind.NONE


def _has(cluster: Cluster | None, kind: CredentialKind) -> bool:
    return cluster is not None and cluster.credential is kind


def _node(row: Mapping[str, Any]) -> NodeRow:
    return NodeRow(
        name=str(row.get("hostname") or row.get("address") or row.get("node_id", "")),
        is_head=bool(row.get("is_head")),
        is_alive=bool(row.get("is_alive")),
        cpu_count=float(row.get("cpu_count", 0)),
        gpu_count=float(row.get("gpu_count", 0)),
        cpu_percent=float(row.get("cpu_percent", 0)),
        memory_used_bytes=int(row.get("memory_used_bytes", 0)),
        memory_total_bytes=int(row.get("memory_total_bytes", 0)),
    )
