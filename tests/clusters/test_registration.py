"""What is taken as a cluster, what is refused, and what of it is kept secret."""

from dataclasses import replace
from typing import Any

import pytest
import trustme

from app.clusters import registry, service
from app.clusters.registration import Wish, checked, wish_of
from app.db import Database
from app.errors import Conflict, Invalid, NotFound
from app.models import Cluster, ClusterKind, CredentialKind, Secret
from app.ray.address import ClusterAddress, EndpointAddress, HttpAddress
from app.ray.target import Target
from app.secrets import service as secrets
from tests.factories import ADA, make_run
from tests.fakes.hyperpod import FakeHyperpod
from tests.secrets.conftest import with_keys

TOKEN = "ray_9d8c7b6a5f"
HTTP = Wish(name="Lab", address="https://ray.example.com", credential="token", secret=TOKEN)
AWS = Wish(
    name="Pod",
    address="sagemaker_ray://skyrl/team-a",
    credential="aws",
    eks_cluster="train-eks",
    region="us-west-2",
    role_arn="arn:aws:iam::123456789012:role/trainer",
    access_key_id="AKIAEXAMPLE123456",
    secret="uW9secret/key+example",
)


def kubeconfig() -> str:
    pod = FakeHyperpod("http://127.0.0.1:1")
    pod.api_url = "https://127.0.0.1:6443"
    return pod.kubeconfig


@pytest.fixture
def store(database: Database, tmp_path: Any) -> Database:
    return with_keys(database, tmp_path / "secret.keys")


@pytest.mark.parametrize(
    ("wish", "kind", "secret"),
    [
        (HTTP, ClusterKind.HTTP, TOKEN),
        (replace(HTTP, credential="none"), ClusterKind.HTTP, ""),
        (AWS, ClusterKind.HYPERPOD, AWS.secret),
        (replace(AWS, access_key_id="", secret=""), ClusterKind.HYPERPOD, ""),
        (replace(AWS, role_arn="", address="sagemaker_ray://ray.example.com"), "hyperpod", None),
    ],
)
def test_what_is_stored(wish: Wish, kind: ClusterKind, secret: str | None) -> None:
    found = checked(wish)
    assert found.kind is ClusterKind(kind)
    assert secret is None or found.secret == secret
    assert wish.secret == "" or wish.secret not in repr(found)
    assert wish.secret == "" or wish.secret not in str(found.access)


@pytest.mark.parametrize(
    ("wish", "field", "said"),
    [
        (replace(HTTP, name=" "), "name", "name"),
        (replace(HTTP, address="ray.example.com"), "address", "sagemaker_ray"),
        (replace(HTTP, address="embedded"), "address", "skydeck up"),
        (replace(HTTP, address="https://ray.example.com/x"), "address", "leave the rest out"),
        (replace(HTTP, address="https://u:p@ray.example.com"), "address", "no password"),
        (replace(HTTP, secret=""), "secret", "token"),
        (replace(HTTP, secret="two words"), "secret", "one word"),
        (replace(HTTP, credential="aws"), "credential", "a token, or none"),
        (replace(HTTP, credential="magic"), "credential", "a token, or none"),
        (replace(AWS, credential="token"), "credential", "AWS keys"),
        (replace(AWS, address="sagemaker_ray://a/b/c"), "address", "namespace"),
        (replace(AWS, eks_cluster="a b"), "eks_cluster", "EKS cluster"),
        (replace(AWS, region="nowhere"), "region", "us-west-2"),
        (replace(AWS, role_arn="trainer"), "role_arn", "arn:aws:iam"),
        (replace(AWS, access_key_id="ASIAEXAMPLE123456"), "access_key_id", "end within hours"),
        (replace(AWS, access_key_id="hello"), "access_key_id", "AKIA"),
        (replace(AWS, access_key_id=""), "access_key_id", "belongs to"),
        (replace(AWS, secret=""), "secret", "belongs to the id"),
        (replace(AWS, credential="kubeconfig"), "kubeconfig", "Choose a kubeconfig"),
        (replace(HTTP, ca="hello"), "ca", "PEM"),
        (replace(HTTP, ca="zertifikät"), "ca", "PEM"),
        (replace(HTTP, max_running_runs="0"), "max_running_runs", "from 1"),
        (replace(HTTP, max_running_runs="many"), "max_running_runs", "from 1"),
    ],
)
def test_each_wrong_field_is_named(wish: Wish, field: str, said: str) -> None:
    with pytest.raises(Invalid) as caught:
        checked(wish)
    problems = {each.field: each.message for each in caught.value.problems}
    assert said in problems[field]
    assert not wish.secret or wish.secret not in str(problems) or wish.secret == "two words"


async def test_a_cluster_s_secret_is_encrypted_opened_for_the_worker_and_deleted(
    store: Database,
) -> None:
    async with store.write() as session:
        cluster = await registry.create(session, HTTP, actor=ADA)
        assert cluster.secret_name is not None
        stored = await secrets.find(session, None, cluster.secret_name)
        assert TOKEN not in stored.ciphertext
        access = await registry.access(session, cluster)
        assert access.target == Target(HttpAddress(HTTP.address), TOKEN)
        assert TOKEN not in repr(access)
        text = (await secrets.masker(session, [])).text(f"Bearer {TOKEN}")
        assert TOKEN not in text
        name = cluster.secret_name
        await registry.remove(session, cluster, actor=ADA)
        with pytest.raises(NotFound):
            await secrets.find(session, None, name)
        with pytest.raises(NotFound):
            await service.get(session, cluster.slug)
        assert cluster not in await service.list_all(session)
        again = await registry.create(session, HTTP, actor=ADA)
        assert again.name == HTTP.name


async def test_aws_keys_and_a_kubeconfig_are_opened_as_they_were_typed(store: Database) -> None:
    authority = trustme.CA().cert_pem.bytes().decode()
    async with store.write() as session:
        cluster = await registry.create(session, replace(AWS, ca=authority), actor=ADA)
        target = (await registry.access(session, cluster)).target
        assert target is not None
        assert target.address == ClusterAddress("skyrl", "team-a")
        assert target.ca == authority.strip()
        credential: Any = target.credential
        assert (credential.name, credential.secret_access_key) == (AWS.eks_cluster, AWS.secret)
        wish = Wish(
            name="File",
            address="sagemaker_ray://ray.example.com",
            credential="kubeconfig",
            kubeconfig=kubeconfig(),
        )
        filed = await registry.create(session, wish, actor=ADA)
        target = (await registry.access(session, filed)).target
        assert target is not None
        assert target.address == EndpointAddress("ray.example.com")
        credential = target.credential
        assert credential.server == "https://127.0.0.1:6443"
        assert credential.token not in str(filed.access)
        changed = replace(wish_of(filed), name="Other")
        await registry.change(session, filed, changed, actor=ADA)
        assert (await registry.access(session, filed)).target == target


async def test_what_is_left_empty_is_kept_and_no_token_goes_to_another_host(
    store: Database,
) -> None:
    async with store.write() as session:
        cluster = await registry.create(session, HTTP, actor=ADA)
        kept = replace(wish_of(cluster), max_running_runs="3")
        assert kept.secret == ""
        await registry.change(session, cluster, kept, actor=ADA)
        assert cluster.max_running_runs == 3
        access = await registry.access(session, cluster)
        assert access.target is not None
        assert access.target.credential == TOKEN
        moved = replace(kept, address="https://evil.example.com")
        with pytest.raises(Invalid, match="cannot be stored") as caught:
            await registry.change(session, cluster, moved, actor=ADA)
        assert [each.field for each in caught.value.problems] == ["secret"]
        await registry.change(session, cluster, replace(moved, secret="an0ther-t"), actor=ADA)
        await registry.change(session, cluster, replace(moved, credential="none"), actor=ADA)
        assert (cluster.secret_name, cluster.credential) == (None, CredentialKind.NONE)


async def test_a_name_is_taken_once_and_a_secret_is_no_name(store: Database) -> None:
    async with store.write() as session:
        await registry.create(session, HTTP, actor=ADA)
        with pytest.raises(Invalid, match="already"):
            await registry.create(session, HTTP, actor=ADA)
        with pytest.raises(Invalid, match="holds the value of secret"):
            await registry.create(session, replace(HTTP, name=f"x {TOKEN}"), actor=ADA)
        with pytest.raises(Invalid) as caught:
            await registry.create(session, replace(HTTP, name="b", secret="short"), actor=ADA)
        assert [each.field for each in caught.value.problems] == ["secret"]


async def test_a_lost_secret_is_told_where_it_is_needed(store: Database) -> None:
    async with store.write() as session:
        cluster = await registry.create(session, HTTP, actor=ADA)
        row = await secrets.find(session, None, cluster.secret_name or "")
        assert isinstance(row, Secret)
        await session.delete(row)
        await session.flush()
        access = await registry.access(session, cluster)
        assert access.target is None
        assert "type it again" in access.trouble


async def test_a_cluster_with_runs_stays_and_so_does_the_embedded_one(store: Database) -> None:
    async with store.write() as session:
        run = await make_run(session)
        cluster: Cluster = await registry.create(session, HTTP, actor=ADA)
        run.cluster_id = cluster.id
        await session.flush()
        with pytest.raises(Conflict, match="1 run waits or runs"):
            await registry.remove(session, cluster, actor=ADA)
        embedded = await service.ensure_embedded(session)
        with pytest.raises(Conflict, match="EMBEDDED_CLUSTER=off"):
            await registry.remove(session, embedded, actor=ADA)
        with pytest.raises(Conflict):
            await registry.change(session, embedded, HTTP, actor=ADA)


async def test_a_check_that_waits_is_not_asked_for_twice(store: Database) -> None:
    async with store.write() as session:
        cluster = await registry.create(session, HTTP, actor=ADA)
        first = await registry.ask_check(session, cluster, actor=ADA)
        assert await registry.ask_check(session, cluster, actor=ADA) is first
        assert await registry.get_check(session, first.slug) == (first, cluster)
        with pytest.raises(NotFound):
            await registry.get_check(session, "check-none")
