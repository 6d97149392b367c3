"""EKS tokens: the same as `aws eks get-token` makes, kept for minutes, renewed when refused."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import botocore.auth
import botocore.session
import httpx
import pytest
from botocore.credentials import Credentials
from botocore.signers import RequestSigner

from app.k8s.eks import EksAccess, mint_token
from app.k8s.errors import AwsRefused
from app.k8s.point import EksCluster
from tests.fakes import hyperpod
from tests.fakes.hyperpod import FakeHyperpod

NOW = datetime(2026, 11, 30, 1, 2, 3, tzinfo=UTC)
KEYS = Credentials("AKIAEXAMPLE123456", "uW9secret/key+example")


def of_the_aws_command(keys: Credentials) -> str:
    """As awscli's `eks get-token` (customizations/eks/get_token.py) asks botocore for it."""
    session = botocore.session.Session()
    session.set_credentials("AKIAOTHER", "of-nobody")
    service = session.create_client("sts", region_name="us-west-2").meta.service_model.service_id
    signer = RequestSigner(
        service, "us-west-2", "sts", "v4", keys, session.get_component("event_emitter")
    )
    url = signer.generate_presigned_url(
        {
            "method": "GET",
            "url": "https://sts.us-west-2.amazonaws.com/"
            "?Action=GetCallerIdentity&Version=2011-06-15",
            "body": {},
            "headers": {"x-k8s-aws-id": "train-eks"},
            "context": {},
        },
        region_name="us-west-2",
        expires_in=60,
        operation_name="",
    )
    return "k8s-aws-v1." + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")


@pytest.mark.parametrize("keys", [KEYS, Credentials("ASIAX", "role-key", "session-token")])
def test_a_token_is_that_of_the_aws_command(
    keys: Credentials, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_: NOW.replace(tzinfo=None))
    assert mint_token("train-eks", "us-west-2", keys) == of_the_aws_command(keys)


def test_a_token_holds_no_secret_key() -> None:
    packed = mint_token("train-eks", "us-west-2", KEYS).removeprefix("k8s-aws-v1.")
    url = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)).decode()
    assert httpx.URL(url).params["X-Amz-Expires"] == "60"
    assert "uW9secret" not in url


async def test_role_place_and_token_are_kept_until_they_are_due_or_refused() -> None:
    now = NOW
    async with FakeHyperpod("http://127.0.0.1:1").serve() as pod:
        cluster = EksCluster(
            hyperpod.EKS_NAME,
            hyperpod.REGION,
            hyperpod.ROLE_ARN,
            hyperpod.ACCESS_KEY,
            hyperpod.SECRET_KEY,
        )
        access = EksAccess(cluster, pod.make_client(), session_name="skydeck", clock=lambda: now)
        first = await access.point()
        assert (first.server, first.ca) == (pod.api_url, pod.ca)
        assert await access.point() == first
        assert asked(pod) == ["assume", "describe"]
        now += timedelta(minutes=11)
        assert (await access.point()).server == first.server
        assert asked(pod) == ["assume", "describe"]
        await access.point(fresh=True)
        assert asked(pod) == ["assume", "describe"] * 2
        assert pod.assumed == ["skydeck", "skydeck"]
        await access.aclose()


def asked(pod: FakeHyperpod) -> list[Any]:
    names = {"POST": "assume", "GET": "describe"}
    return [names[each.method] for each in pod.seen if each.server == "aws"]


@pytest.mark.parametrize("has_role", [True, False])
async def test_without_a_key_this_machine_s_own_role_is_taken(
    monkeypatch: pytest.MonkeyPatch, has_role: bool
) -> None:
    found = Credentials(hyperpod.ACCESS_KEY, hyperpod.SECRET_KEY) if has_role else None

    class Session:
        def get_credentials(self) -> Credentials | None:
            return found

    monkeypatch.setattr(boto3, "Session", Session)
    async with FakeHyperpod("http://127.0.0.1:1").serve() as pod:
        cluster = EksCluster(hyperpod.EKS_NAME, hyperpod.REGION)
        access = EksAccess(cluster, pod.make_client(), session_name="skydeck")
        if has_role:
            assert (await access.point()).server == pod.api_url
        else:
            with pytest.raises(AwsRefused, match="no AWS role of its own"):
                await access.point()
        await access.aclose()
