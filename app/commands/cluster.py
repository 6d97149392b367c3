"""`skydeck cluster`: Ray clusters that runs may be submitted to, over the API."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from app.commands.target import EPILOG, AsJson, Token, Url, client_of
from app.errors import SkydeckError

app = typer.Typer(
    help="Ray clusters that runs may be submitted to, over the API of a running Skydeck.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=f"{EPILOG} All but list and show need a token of scope admin: `skydeck token create "
    "--name me --scope admin`.",
)


class CredentialName(StrEnum):
    """As `app.models.CredentialKind`, without importing the database for `--help`."""

    NONE = "none"
    TOKEN = "token"  # noqa: S105 - the name of a kind
    AWS = "aws"
    KUBECONFIG = "kubeconfig"


ClusterId = Annotated[str, typer.Argument(metavar="CLUSTER", help="Id, such as cluster-7fk2m9qd.")]
Name = Annotated[str | None, typer.Option(help="What people call it.")]
Address = Annotated[
    str | None, typer.Option(help="http(s)://HOST:PORT or sagemaker_ray://CLUSTER/NAMESPACE.")
]
Credential = Annotated[
    CredentialName | None,
    typer.Option(
        help="What signs in. A token or a secret access key is asked for, or read from stdin."
    ),
]
EksCluster = Annotated[str | None, typer.Option(help="AWS: name of the EKS cluster.")]
Region = Annotated[str | None, typer.Option(help="AWS: region of the EKS cluster.")]
RoleArn = Annotated[str | None, typer.Option(help="AWS: role to assume.")]
KeyId = Annotated[
    str | None,
    typer.Option("--access-key-id", help="AWS: of a user; without it the machine's own role."),
]
Kubeconfig = Annotated[Path | None, typer.Option(help="File with a token and an inline authority.")]
Ca = Annotated[Path | None, typer.Option(help="PEM file: private authority of the dashboard.")]
Limit = Annotated[int | None, typer.Option("--max-running", min=1, help="Runs at a time.")]


@app.callback()
def _target(context: typer.Context, url: Url = None, token: Token = None) -> None:
    """Ray clusters that runs may be submitted to, over the API of a running Skydeck."""
    context.obj = (url, token)


@app.command("list")
def list_clusters(context: typer.Context, as_json: AsJson = False) -> None:
    """Print all clusters, one a line."""
    from app.commands.tables import clusters_table

    with client_of(context) as client:
        found = client.list_clusters()
    typer.echo(json.dumps(found) if as_json else clusters_table(found))


@app.command()
def show(context: typer.Context, cluster_id: ClusterId, as_json: AsJson = False) -> None:
    """Print one cluster."""
    from app.commands.tables import cluster_text

    with client_of(context) as client:
        found = client.get_cluster(cluster_id)
    typer.echo(json.dumps(found) if as_json else cluster_text(found))


@app.command()
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What people call it.")],
    address: Annotated[
        str, typer.Argument(help="http(s)://HOST:PORT or sagemaker_ray://CLUSTER/NAMESPACE.")
    ],
    credential: Credential = CredentialName.NONE,
    eks_cluster: EksCluster = None,
    region: Region = None,
    role_arn: RoleArn = None,
    access_key_id: KeyId = None,
    kubeconfig: Kubeconfig = None,
    ca: Ca = None,
    max_running: Limit = None,
) -> None:
    """Register a cluster and print its id, alone, on stdout."""
    body = _body(
        name=name,
        address=address,
        credential=credential,
        eks_cluster=eks_cluster,
        region=region,
        role_arn=role_arn,
        access_key_id=access_key_id,
        kubeconfig=kubeconfig,
        ca=ca,
        max_running_runs=max_running,
    )
    with client_of(context) as client:
        typer.echo(client.add_cluster(body)["id"])


@app.command()
def change(
    context: typer.Context,
    cluster_id: ClusterId,
    name: Name = None,
    address: Address = None,
    credential: Credential = None,
    eks_cluster: EksCluster = None,
    region: Region = None,
    role_arn: RoleArn = None,
    access_key_id: KeyId = None,
    kubeconfig: Kubeconfig = None,
    ca: Ca = None,
    max_running: Limit = None,
) -> None:
    """Change a cluster; what is not given stays. With --credential its secret is asked for anew."""
    body = _body(
        name=name,
        address=address,
        credential=credential,
        eks_cluster=eks_cluster,
        region=region,
        role_arn=role_arn,
        access_key_id=access_key_id,
        kubeconfig=kubeconfig,
        ca=ca,
        max_running_runs=max_running,
    )
    with client_of(context) as client:
        client.change_cluster(cluster_id, **body)
    typer.echo(f"{cluster_id} changed")


@app.command()
def check(context: typer.Context, cluster_id: ClusterId, as_json: AsJson = False) -> None:
    """Have a worker check the connection, and print what it found. Exit 1 if something failed."""
    from app.commands.tables import check_text

    with client_of(context) as client:
        found = client.check_cluster(cluster_id)
    if found["status"] == "queued":
        raise SkydeckError("no worker has looked yet: is one running?")
    typer.echo(json.dumps(found) if as_json else check_text(found))
    raise typer.Exit(0 if all(each["ok"] for each in found["checks"]) else 1)


@app.command()
def remove(
    context: typer.Context,
    cluster_id: ClusterId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Take a cluster off Skydeck, with its credential. Refused while runs are on it."""
    if not yes:
        typer.confirm(f"Remove {cluster_id}? Its credential cannot be brought back.", abort=True)
    with client_of(context) as client:
        client.remove_cluster(cluster_id)
    typer.echo(f"{cluster_id} removed")


def _body(**given: Any) -> dict[str, Any]:
    """What was given, files as their text, with the secret that the credential needs."""
    body = {
        name: _text(value) if isinstance(value, Path) else value
        for name, value in given.items()
        if value is not None
    }
    credential = body.get("credential")
    if credential is CredentialName.TOKEN:
        body["secret"] = _secret("the token")
    elif credential is CredentialName.AWS and body.get("access_key_id"):
        body["secret"] = _secret("the secret access key")
    return body


def _secret(what: str) -> str:
    from app.commands.local_secrets import read_value

    return read_value(what)


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeError) as error:
        raise SkydeckError(f"{file} cannot be read: {error}") from None
