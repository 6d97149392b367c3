"""Uploading over the API: what is answered, what is stored, and what is left behind."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import func, select

from app.code import archive, service, store
from app.db import Database
from app.models import AuditEntry, CodeChunk, CodeUpload
from app.settings import Settings
from tests.api.helpers import V1, get, problem
from tests.code.zips import zip_entries, zip_of

ZIP = {"Content-Type": "application/zip"}
GOOD = zip_of({"train.py": "print(1)\n", "lib/x.bin": bytes(range(256)) * 20})


async def upload(client: httpx.AsyncClient, data: bytes = GOOD, **query: str) -> httpx.Response:
    return await client.post(f"{V1}/code", content=data, headers=ZIP, params=query)


async def rows(database: Database) -> tuple[int, int]:
    """Numbers of uploads and of chunks."""
    async with database.read() as session:
        uploads = await session.scalar(select(func.count()).select_from(CodeUpload))
        chunks = await session.scalar(select(func.count()).select_from(CodeChunk))
    return uploads or 0, chunks or 0


async def test_a_zip_is_stored_byte_by_byte(
    api: httpx.AsyncClient, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_CHUNK_BYTES", 7)
    answer = await upload(api, name="code.zip")
    assert answer.status_code == 201, answer.text
    body = answer.json()
    assert (body["size_bytes"], body["file_count"]) == (len(GOOD), 2)
    assert (body["name"], body["root_names"]) == ("code.zip", ["lib", "train.py"])
    assert body["reference"] == f"upload:{body['sha256']}"
    assert await get(api, f"/code/{body['id']}") == body
    assert (await get(api, "/code"))["items"] == [body]
    async with database.read() as session:
        row = await service.get(session, body["id"])
    with (tmp_path / "copy").open("w+b") as file:
        await service.read_into(database, row, file)
    assert (tmp_path / "copy").read_bytes() == GOOD
    assert not list((tmp_path / "home").glob("*"))


async def test_sending_it_again_stores_nothing_again(
    api: httpx.AsyncClient, database: Database
) -> None:
    first, second = (await upload(api)).json(), (await upload(api)).json()
    assert second["id"] == first["id"]
    assert second["uploaded_at"] > first["uploaded_at"]
    assert await rows(database) == (1, 1)
    async with database.read() as session:
        actions = (await session.scalars(select(AuditEntry.action))).all()
    assert list(actions).count("code.upload") == 2


@pytest.mark.parametrize(
    "data", [b"", b"no zip", GOOD[:-30], zip_entries(("../evil", b"x")), zip_of({})]
)
async def test_a_bad_zip_leaves_nothing(
    api: httpx.AsyncClient, database: Database, data: bytes
) -> None:
    body = problem(await upload(api, data), 422)
    assert body["errors"][0]["field"] == "code"
    assert await rows(database) == (0, 0)


async def test_too_many_bytes(
    api: httpx.AsyncClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body() -> AsyncIterator[bytes]:
        for _ in range(95):
            yield b"\0" * 1_000_000

    declared = await api.post(
        f"{V1}/code", content=b"x", headers=ZIP | {"Content-Length": str(archive.MAX_BYTES + 1)}
    )
    problem(declared, 413)
    problem(await api.post(f"{V1}/code", content=body(), headers=ZIP), 413)
    monkeypatch.setattr("app.code.receive.MAX_BYTES", 10)
    assert "nothing was stored" in problem(await upload(api), 413)["detail"]
    assert await rows(database) == (0, 0)


async def test_a_zip_of_many_megabytes_is_taken(api: httpx.AsyncClient) -> None:
    import os

    data = zip_of({"a.bin": os.urandom(12_000_000)})
    answer = await upload(api, data)
    assert answer.status_code == 201
    assert answer.json()["size_bytes"] == len(data)


async def test_what_is_sent_as_something_else(api: httpx.AsyncClient) -> None:
    problem(await api.post(f"{V1}/code", content=GOOD, headers={"Content-Type": "text/plain"}), 415)
    problem(await api.post(f"{V1}/code", files={"file": GOOD}), 415)


async def test_a_disk_that_is_full(
    api: httpx.AsyncClient, database: Database, settings: Settings
) -> None:
    settings.home.write_text("no folder")
    assert "nothing was stored" in problem(await upload(api), 503)["detail"]
    assert await rows(database) == (0, 0)


async def test_a_project_keeps_so_much_that_nobody_uses(
    api: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MAX_UNUSED_BYTES", len(GOOD) + 10)
    assert (await upload(api)).status_code == 201
    assert (await upload(api)).status_code == 201
    assert "7 days" in problem(await upload(api, zip_of({"other": "x"})), 409)["detail"]


async def test_a_strange_file_name(api: httpx.AsyncClient) -> None:
    body = (await upload(api, name="a\u202e\tb<script>.zip")).json()
    assert body["name"] == "ab<script>.zip"


async def test_a_killed_upload_is_not_there(
    api: httpx.AsyncClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def killed(*_: object) -> None:
        raise OSError("killed")

    whole = store.write
    monkeypatch.setattr(store, "write", killed)
    with pytest.raises(OSError, match="killed"):
        await upload(api)
    assert (await get(api, "/code"))["items"] == []
    monkeypatch.setattr(store, "write", whole)
    assert (await upload(api)).status_code == 201
    assert len((await get(api, "/code"))["items"]) == 1


async def test_two_at_once_store_one(
    api: httpx.AsyncClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = store.write
    monkeypatch.setattr(store, "write", whole)
    ids: list[str] = []

    async def overtaken(*given: object) -> None:
        await whole(*given)  # type: ignore[arg-type]
        monkeypatch.setattr(store, "write", whole)
        ids.append((await upload(api)).json()["id"])

    monkeypatch.setattr(store, "write", overtaken)
    answer = await upload(api)
    assert answer.status_code == 201, answer.text
    assert [answer.json()["id"]] == ids
    assert await rows(database) == (1, 1)
