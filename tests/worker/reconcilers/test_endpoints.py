"""What is shown of endpoints: health, models and latency, as the servers themselves say."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from app.access.principal import Actor
from app.db import Database
from app.endpoints import service as endpoints
from app.llm.dialect import Dialect
from app.llm.limits import ChatLimits
from app.models import Endpoint, EndpointStatus
from app.secrets import service as secrets
from app.secrets.crypto import make_file
from app.secrets.vault import attach
from app.settings import ENDPOINT_FILE
from tests.fakes import openai_dialects
from tests.fakes.clock import FakeClock
from tests.fakes.openai_server import BASE, KEY, FakeOpenAI
from tests.outgoing.conftest import Rules
from worker.reconciler import Loop
from worker.reconcilers.endpoints import EMBEDDED_STEADY, STEADY, EndpointsReconciler

ADMIN = Actor("Ada", "user:ada")
ADAPTER = f"{BASE}:maze-stopfix"


# A server that says nothing is not waited for; no other meets a limit on a busy machine.
IMPATIENT = ChatLimits(connect_seconds=30, idle_seconds=0.3, total_seconds=0.5)
PATIENT = ChatLimits(connect_seconds=30, idle_seconds=60, total_seconds=60)


class Watch:
    """One worker's loop over the endpoints, and a clock that it is told by."""

    def __init__(self, database: Database, home: Path) -> None:
        self.database, self.home, self.clock = database, home, FakeClock()
        self.rules = Rules("127.0.0.1")
        self.limit(PATIENT)

    def limit(self, limits: ChatLimits) -> None:
        reconciler = EndpointsReconciler(self.rules, home=self.home, limits=limits)
        self.loop = Loop(self.database, reconciler, lease_seconds=15, clock=self.clock)

    async def register(self, fake: FakeOpenAI, key: str = KEY) -> str:
        async with self.database.write() as session:
            made = await endpoints.register(
                session, ADMIN, name="Ours", base_url=fake.base_url, key=key
            )
            made.due_at = self.clock()
            return made.slug

    async def look(self, slug: str, after: timedelta = timedelta(0)) -> Endpoint:
        """One turn of the loop, later by so much; then what is known."""
        self.clock.advance(after.total_seconds())
        await self.loop.turn()
        async with self.database.read() as session:
            return await endpoints.get(session, slug)

    def announce(self, fake: FakeOpenAI) -> None:
        values = {"base_url": fake.base_url, "key": KEY, "pid": 1}
        (self.home / ENDPOINT_FILE).write_text(json.dumps(values))


@pytest.fixture
async def watch(database: Database, tmp_path: Path) -> Watch:
    make_file(tmp_path / "secret.keys")
    attach(database, tmp_path / "secret.keys")
    return Watch(database, tmp_path)


@pytest.fixture(params=list(openai_dialects.Dialect))
async def fake(request: pytest.FixtureRequest) -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI(dialect=request.param, is_hostile=False).serve() as served:
        yield served


@pytest.fixture
async def vllm() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI(is_hostile=False).serve() as served:
        yield served


async def test_models_of_both_dialects_are_listed_with_their_parents(
    watch: Watch, fake: FakeOpenAI
) -> None:
    endpoint = await watch.look(await watch.register(fake))
    assert (endpoint.status, endpoint.message) == (EndpointStatus.READY, "")
    assert endpoint.dialect is Dialect(fake.dialect.value)
    assert endpoint.status_since == endpoint.observed_at == watch.clock()
    assert endpoint.latency_seconds is not None
    assert 0 < endpoint.latency_seconds < PATIENT.total_seconds
    assert endpoint.due_at == watch.clock() + STEADY
    length = 6_000 if fake.dialect is openai_dialects.Dialect.VLLM else None
    assert endpoints.models_of(endpoint) == [
        endpoints.EndpointModel(BASE, None, length, True),
        endpoints.EndpointModel(ADAPTER, BASE, length, True),
    ]


async def test_a_wrong_key_is_told_apart(watch: Watch, fake: FakeOpenAI) -> None:
    endpoint = await watch.look(await watch.register(fake, key="quite-another-key"))
    assert endpoint.status is EndpointStatus.UNAUTHORIZED
    assert "refused its key" in endpoint.message


async def test_a_silent_endpoint_keeps_its_models_and_is_asked_ever_less_often(
    watch: Watch, vllm: FakeOpenAI
) -> None:
    slug = await watch.register(vllm)
    await watch.look(slug)
    vllm.behave("models", "reset-before")
    pauses = []
    for _ in range(12):
        endpoint = await watch.look(slug, timedelta(seconds=400))
        assert endpoint.status is EndpointStatus.UNREACHABLE
        assert endpoint.due_at is not None
        pauses.append((endpoint.due_at - watch.clock()).total_seconds())
    assert pauses[0] < 5
    assert 200 < pauses[-1] <= 302
    assert [each.is_ready for each in endpoints.models_of(endpoint)] == [False, False]
    first = endpoint.status_since
    assert watch.clock() - first == timedelta(seconds=400 * 11)
    vllm.behave("models", None)
    endpoint = await watch.look(slug, timedelta(seconds=400))
    assert (endpoint.status, endpoint.failure_count) == (EndpointStatus.READY, 0)


@pytest.mark.parametrize(
    ("behaviour", "status", "said"),
    [
        ("html-200", EndpointStatus.FAILED, "a web page"),
        ("json-list", EndpointStatus.FAILED, "lists no models"),
        ("no-http", EndpointStatus.FAILED, "HTTP"),
        ("redirect", EndpointStatus.FAILED, "final address"),
        ("gzip-bomb", EndpointStatus.FAILED, "cut off"),
        ("huge-error", EndpointStatus.FAILED, "cut off"),
        ("html-500", EndpointStatus.UNREACHABLE, "HTTP 500"),
        ("hang-before", EndpointStatus.UNREACHABLE, "went silent"),
        ("unknown-adapter", EndpointStatus.FAILED, "below /v1"),
    ],
)
async def test_each_misbehaviour_has_its_state_and_sentence(
    watch: Watch, vllm: FakeOpenAI, behaviour: str, status: EndpointStatus, said: str
) -> None:
    if behaviour == "hang-before":
        watch.limit(IMPATIENT)
    vllm.behave("models", behaviour)
    endpoint = await watch.look(await watch.register(vllm))
    assert endpoint.status is status
    assert said in endpoint.message
    assert KEY not in endpoint.message


async def test_how_long_a_server_asks_to_wait_is_kept(watch: Watch, vllm: FakeOpenAI) -> None:
    vllm.behave("models", "rate-limited")
    endpoint = await watch.look(await watch.register(vllm))
    assert endpoint.due_at is not None
    assert endpoint.due_at >= watch.clock() + timedelta(seconds=7)


async def test_a_host_that_is_allowed_no_more_is_not_called(watch: Watch, vllm: FakeOpenAI) -> None:
    watch.rules.texts.clear()
    endpoint = await watch.look(await watch.register(vllm))
    assert endpoint.status is EndpointStatus.FAILED
    assert "Outgoing hosts" in endpoint.message
    assert not vllm.paths


async def test_a_key_deleted_among_the_secrets_is_missed(watch: Watch, vllm: FakeOpenAI) -> None:
    slug = await watch.register(vllm)
    async with watch.database.write() as session:
        name = (await endpoints.get(session, slug)).secret_name
        assert name is not None
        await secrets.delete(session, None, name, actor=ADMIN)
    endpoint = await watch.look(slug)
    assert endpoint.status is EndpointStatus.UNAUTHORIZED
    assert "set it anew" in endpoint.message
    assert not vllm.paths


async def test_the_embedded_endpoint_comes_and_goes_with_its_file(
    watch: Watch, vllm: FakeOpenAI
) -> None:
    async with watch.database.write() as session:
        made = await endpoints.ensure_embedded(session)
        made.due_at = watch.clock()
    endpoint = await watch.look(endpoints.EMBEDDED)
    assert endpoint.status is EndpointStatus.STOPPED
    assert "skydeck up" in endpoint.message
    # Loopback needs no entry in the allow-list: its address comes from us.
    watch.rules.texts.clear()
    watch.announce(vllm)
    endpoint = await watch.look(endpoints.EMBEDDED, EMBEDDED_STEADY)
    assert (endpoint.status, endpoint.base_url) == (EndpointStatus.READY, vllm.base_url)
    vllm.adapters[f"{BASE}:new"] = BASE
    endpoint = await watch.look(endpoints.EMBEDDED, EMBEDDED_STEADY)
    assert f"{BASE}:new" in [each.id for each in endpoints.models_of(endpoint)]
    (watch.home / ENDPOINT_FILE).unlink()
    endpoint = await watch.look(endpoints.EMBEDDED, EMBEDDED_STEADY)
    assert endpoint.status is EndpointStatus.STOPPED


async def test_an_announcement_that_leads_elsewhere_is_not_followed(watch: Watch) -> None:
    async with watch.database.write() as session:
        (await endpoints.ensure_embedded(session)).due_at = watch.clock()
    values = {"base_url": "http://192.168.0.9:80/v1", "key": "k"}
    (watch.home / ENDPOINT_FILE).write_text(json.dumps(values))
    assert (await watch.look(endpoints.EMBEDDED)).status is EndpointStatus.STOPPED


async def test_waking_an_endpoint_has_it_looked_at(watch: Watch, vllm: FakeOpenAI) -> None:
    slug = await watch.register(vllm)
    await watch.look(slug)
    vllm.paths.clear()
    await watch.look(slug, timedelta(seconds=1))
    assert not vllm.paths
    async with watch.database.write() as session:
        await endpoints.wake(session, slug)
        (await endpoints.get(session, slug)).due_at = watch.clock()
    await watch.look(slug)
    assert list(vllm.paths) == ["GET /v1/models"]


async def test_a_removed_endpoint_is_left_alone(watch: Watch, vllm: FakeOpenAI) -> None:
    slug = await watch.register(vllm)
    async with watch.database.write() as session:
        endpoint = await endpoints.get(session, slug)
        await endpoints.remove(session, endpoint, ADMIN)
    assert await watch.loop.turn() == 0
    assert not vllm.paths
