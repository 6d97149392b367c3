"""Endpoints in the database: what is accepted, where the key is, what a removal leaves."""

from pathlib import Path

import pytest
from sqlalchemy import select

from app.db import Database
from app.endpoints import service
from app.errors import Conflict, Invalid, NotFound
from app.llm.chat import ModelError
from app.models import Endpoint, EndpointStatus, Secret
from app.observability.masking import masked
from app.outgoing.allow_list import AllowList
from app.secrets import rotation
from tests.endpoints.conftest import ADA, KEY, URL, add
from tests.fakes.dns import FakeDns
from worker.jobs.maze_grpo.model import SIDE


async def key_of(database: Database, slug: str) -> str | None:
    async with database.read() as session:
        return (await service.access_of(session, await service.get(session, slug))).key


async def change(database: Database, slug: str, **given: str) -> Endpoint:
    async with database.write() as session:
        return await service.change(session, await service.get(session, slug), ADA, **given)


async def test_only_the_embedded_one_is_known_to_take_mazes_of_one_size(
    vaulted: Database, endpoint: Endpoint
) -> None:
    async with vaulted.write() as session:
        embedded = await service.ensure_embedded(session)
    assert service.maze_size_of(embedded) == (SIDE, SIDE)
    assert service.maze_size_of(endpoint) is None


async def test_a_key_is_encrypted_masked_and_opened_again(
    vaulted: Database, endpoint: Endpoint
) -> None:
    async with vaulted.read() as session:
        [secret] = await session.scalars(select(Secret))
    assert secret.name == endpoint.secret_name
    assert KEY not in secret.ciphertext
    assert KEY not in repr({k: v for k, v in vars(endpoint).items() if k != "_sa_instance_state"})
    assert await key_of(vaulted, endpoint.slug) == KEY
    assert KEY not in masked(f"sent {KEY}")
    async with vaulted.read() as session:
        access = await service.access_of(session, endpoint)
    assert KEY not in repr(access)


async def test_a_new_key_file_s_key_is_used_for_endpoints_too(
    vaulted: Database, endpoint: Endpoint, key_file: Path
) -> None:
    await rotation.rotate(vaulted, key_file, actor=ADA)
    await rotation.forget_old(vaulted, key_file, actor=ADA)
    assert await key_of(vaulted, endpoint.slug) == KEY


async def test_a_key_is_replaced_and_taken_away(vaulted: Database, endpoint: Endpoint) -> None:
    await change(vaulted, endpoint.slug, key="another-key-9z")
    assert await key_of(vaulted, endpoint.slug) == "another-key-9z"
    await change(vaulted, endpoint.slug, key="")
    assert await key_of(vaulted, endpoint.slug) is None
    async with vaulted.read() as session:
        assert (await session.scalars(select(Secret))).all() == []


async def test_a_key_goes_to_no_other_host(vaulted: Database, endpoint: Endpoint) -> None:
    for url in ("https://1.1.1.1/v1", "http://9.9.9.9/v1", "https://9.9.9.9:8443/v1"):
        with pytest.raises(Invalid, match="type the key for the new host") as caught:
            await change(vaulted, endpoint.slug, base_url=url)
        assert [each.field for each in caught.value.problems] == ["key"]
    moved = await change(vaulted, endpoint.slug, base_url="https://9.9.9.9:443/v2")
    assert moved.status is EndpointStatus.CHECKING
    moved = await change(vaulted, endpoint.slug, base_url="https://1.1.1.1/v1", key="key-of-one-1")
    assert await key_of(vaulted, endpoint.slug) == "key-of-one-1"


async def test_a_removed_endpoint_frees_its_name_and_loses_its_key(
    vaulted: Database, endpoint: Endpoint
) -> None:
    async with vaulted.write() as session:
        await service.remove(session, await service.get(session, endpoint.slug), ADA)
    async with vaulted.read() as session:
        assert await service.list_all(session) == []
        assert (await session.scalars(select(Secret))).all() == []
        with pytest.raises(NotFound):
            await service.get(session, endpoint.slug)
    again = await add(vaulted)
    assert again.slug != endpoint.slug


async def test_two_endpoints_have_two_names(vaulted: Database, endpoint: Endpoint) -> None:
    with pytest.raises(Invalid, match="another endpoint has this name"):
        await add(vaulted)
    other = await add(vaulted, "Theirs", key="")
    with pytest.raises(Invalid, match="another endpoint has this name"):
        await change(vaulted, other.slug, name=endpoint.name)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "two\nlines"}, "name"),
        ({"base_url": "ftp://9.9.9.9"}, "base_url"),
        ({"base_url": "https://user:pw@9.9.9.9/v1"}, "base_url"),
        ({"base_url": "https://9.9.9.9/v1?key=1"}, "base_url"),
        ({"base_url": "llm.example.com"}, "base_url"),
        ({"base_url": f"https://9.9.9.9/{'x' * 2_000}"}, "base_url"),
        ({"key": "two\nlines-of-key"}, "key"),
        ({"key": "schlüssel-mit-umlaut"}, "key"),
        ({"key": "tiny-7k"}, "key"),
    ],
)
async def test_what_cannot_be_registered(
    vaulted: Database, given: dict[str, str], field: str
) -> None:
    values = {"name": "Ours", "base_url": URL, "key": ""} | given
    async with vaulted.write() as session:
        with pytest.raises(Invalid) as caught:
            await service.register(session, ADA, **values)
        await session.rollback()
    assert {each.field for each in caught.value.problems} == {field}
    assert given.get("key", "no key") not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["https://9.9.9.9/v1/", "https://9.9.9.9/v1/chat/completions", " https://9.9.9.9/v1 "]
)
async def test_a_pasted_call_becomes_its_base_url(vaulted: Database, text: str) -> None:
    async with vaulted.write() as session:
        made = await service.register(session, ADA, name="Ours", base_url=text, key="")
    assert made.base_url == URL


async def test_an_address_that_is_refused_says_where_it_can_be_allowed(vaulted: Database) -> None:
    dns = FakeDns({"inner.test": [["10.0.0.7"]]})
    with pytest.raises(Invalid, match="Outgoing hosts") as caught:
        await service.require_callable(vaulted, dns, "https://inner.test/v1")
    assert [each.field for each in caught.value.problems] == ["base_url"]
    # What DNS does not know yet may be there tomorrow.
    await service.require_callable(vaulted, dns, "https://tomorrow.test/v1")


async def test_the_embedded_endpoint_is_made_once_and_left_alone(vaulted: Database) -> None:
    async with vaulted.write() as session:
        first = await service.ensure_embedded(session)
        assert (await service.ensure_embedded(session)).id == first.id
    with pytest.raises(Conflict):
        await change(vaulted, "embedded", name="Mine")
    async with vaulted.write() as session:
        with pytest.raises(Conflict):
            await service.remove(session, await service.get(session, "embedded"), ADA)


async def test_a_model_of_an_endpoint_that_does_not_run_cannot_be_opened(
    vaulted: Database, tmp_path: Path
) -> None:
    async with vaulted.write() as session:
        access = await service.access_of(session, await service.ensure_embedded(session))
    with pytest.raises(ModelError, match="skydeck up"):
        service.open_model(access, "maze-base", home=tmp_path, rules=AllowList(vaulted))
