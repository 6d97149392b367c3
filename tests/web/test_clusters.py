"""The pages of clusters, in a browser without JavaScript."""

import httpx
import pytest

from app.clusters import registry, service
from app.db import Database
from app.models import CheckStatus, Cluster
from app.settings import Settings
from tests.clusters.test_registration import AWS, kubeconfig
from tests.factories import ADA
from tests.secrets.conftest import with_keys
from tests.web.html import Element, parse

TOKEN = "ray_9d8c7b6a5f"
FORM = {
    "name": "Lab",
    "address": "https://ray.example.com",
    "credential": "token",
    "token": TOKEN,
    "max_running_runs": "2",
}


@pytest.fixture
async def client(
    client: httpx.AsyncClient, page_database: Database, settings: Settings
) -> httpx.AsyncClient:
    with_keys(page_database, settings.secret_keys)
    async with page_database.write() as session:
        await service.ensure_embedded(session)
    return client


async def show(client: httpx.AsyncClient, path: str) -> Element:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return parse(answer.text)


async def add(client: httpx.AsyncClient, form: dict[str, str] | None = None) -> str:
    """The path of a new cluster's page."""
    answer = await client.post("/clusters/new", data=form or FORM)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


async def test_a_cluster_is_added_checked_changed_and_removed(
    client: httpx.AsyncClient, page_database: Database
) -> None:
    page = await show(client, "/clusters/new")
    assert "sagemaker_ray" in page.text
    choices = [each.text for each in page.walk() if each.tag == "option"]
    assert choices == ["None", "Bearer token", "AWS keys or role", "Kubeconfig with a token"]
    path = await add(client)
    page = await show(client, path)
    assert "Its connection is being checked" in page.text
    assert "A worker looks at it now" in page.text
    assert TOKEN not in page.text
    await write_findings(page_database, path)
    page = await show(client, path)
    assert "It runs Ray 2.60.0." in page.text
    assert "Machines failed." in page.text
    answer = await client.post(f"{path}/check")
    assert answer.headers["location"] == f"{path}#check"
    page = await show(client, f"{path}/edit")
    assert page.labelled("Address").attributes["value"] == FORM["address"]
    assert "value" not in page.labelled("Bearer token").attributes
    answer = await client.post(f"{path}/edit", data=FORM | {"token": "", "name": "Lab 2"})
    assert answer.status_code == 303
    assert "Lab 2" in (await show(client, "/clusters")).text
    answer = await client.post(f"{path}/delete", data={"confirm": "Lab"})
    assert answer.status_code == 422
    assert "Type Lab 2 to remove it" in answer.text
    answer = await client.post(f"{path}/delete", data={"confirm": "Lab 2"})
    assert answer.headers["location"] == "/clusters"
    assert (await client.get(path)).status_code == 404
    assert "Lab 2" not in (await show(client, "/clusters")).text.replace("Cluster removed", "")


async def test_what_is_refused_keeps_what_was_typed_but_no_secret(
    client: httpx.AsyncClient,
) -> None:
    wrong = FORM | {"address": "nowhere", "max_running_runs": "none"}
    answer = await client.post("/clusters/new", data=wrong)
    assert answer.status_code == 422
    assert TOKEN not in answer.text
    page = parse(answer.text)
    assert page.labelled("Name").attributes["value"] == "Lab"
    for label in ("Address", "Runs at a time"):
        assert page.labelled(label).attributes["aria-invalid"] == "true"
    assert "2 values to correct" in page.text
    path = await add(client)
    moved = FORM | {"token": "", "address": "https://other.example.com"}
    answer = await client.post(f"{path}/edit", data=moved)
    assert answer.status_code == 422
    assert parse(answer.text).labelled("Bearer token").attributes["aria-invalid"] == "true"


async def test_aws_keys_and_a_kubeconfig_by_form(client: httpx.AsyncClient) -> None:
    names = ("name", "address", "eks_cluster", "region", "role_arn", "access_key_id")
    form = {name: getattr(AWS, name) for name in names}
    form |= {"credential": "aws", "secret_access_key": AWS.secret, "max_running_runs": "1"}
    page = await show(client, await add(client, form))
    assert "train-eks" in page.text
    assert AWS.secret not in page.text
    form = FORM | {"name": "File", "address": AWS.address, "credential": "kubeconfig"}
    files = {"kubeconfig": ("config", kubeconfig().encode())}
    answer = await client.post("/clusters/new", data=form, files=files)
    assert answer.status_code == 303, answer.text
    page = await show(client, answer.headers["location"])
    assert "https://127.0.0.1:6443" in page.text
    wrong = kubeconfig().replace('"token"', '"tokenFile"')
    files = {"kubeconfig": ("config", wrong.encode())}
    answer = await client.post("/clusters/new", data=form | {"name": "Other"}, files=files)
    assert answer.status_code == 422
    assert "would read a file" in answer.text


async def test_the_embedded_cluster_has_a_page_and_is_not_changed(
    client: httpx.AsyncClient,
) -> None:
    page = await show(client, "/clusters/embedded")
    assert "Check connection" in page.text
    for path in ("edit", "delete"):
        assert (await client.get(f"/clusters/embedded/{path}")).status_code == 409


async def write_findings(store: Database, path: str) -> None:
    async with store.write() as session:
        cluster: Cluster = await service.get(session, path.rpartition("/")[2])
        check = await registry.ask_check(session, cluster, actor=ADA)
        check.status, check.ended_at = CheckStatus.DONE, check.created_at
        check.findings = [
            {"name": "connection", "ok": True, "message": "It runs Ray 2.60.0."},
            {"name": "machines", "ok": False, "message": "none answered"},
        ]
