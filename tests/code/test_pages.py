"""The page of uploaded code, as a browser without scripts uses it."""

import zipfile

import httpx
import pytest
from sqlalchemy import func, select

from app.code import archive
from app.db import Database
from app.models import CodeChunk, CodeUpload, Role
from app.projects import service as projects
from app.settings import Settings
from app.users import service as users
from app.web.deps import SESSION_COOKIE
from tests.code.zips import with_mode, zip_entries, zip_of
from tests.factories import ADA
from tests.projects.people import add_person
from tests.web.conftest import app, client, page_database, stranger
from tests.web.html import Element, parse

__all__ = ["app", "client", "page_database", "stranger"]

URL = "/projects/ours/code"
GOOD = zip_of({"train.py": "print(1)\n", "<b>x.py": ""})


@pytest.fixture(autouse=True)
async def ours(page_database: Database) -> None:
    async with page_database.write() as session:
        project = await projects.create(session, name="Ours", actor=ADA)
        for name, role in (("mia", Role.MEMBER), ("vic", Role.VIEWER)):
            await add_person(session, name)
            await projects.add_member(session, project, name, role, actor=ADA)


async def sign_in_as(browser: httpx.AsyncClient, database: Database, name: str) -> None:
    async with database.write() as session:
        user = await users.get_user_named(session, name)
        secret = await users.create_session(session, user)
    browser.cookies.set(SESSION_COOKIE, secret)


async def send(
    browser: httpx.AsyncClient, data: bytes, name: str = "my code.zip"
) -> tuple[httpx.Response, Element]:
    answer = await browser.post(URL, files={"code": (name, data)})
    if answer.status_code == 303:
        answer = await browser.get(answer.headers["location"])
    return answer, parse(answer.text)


async def test_a_member_uploads_and_is_told_what_to_write(
    stranger: httpx.AsyncClient, page_database: Database
) -> None:
    await sign_in_as(stranger, page_database, "mia")
    empty = parse((await stranger.get(URL)).text)
    assert "Nothing yet" in empty.text
    form = empty.labelled("Zip of your code")
    assert form.attributes["name"] == "code"
    answer, page = await send(stranger, GOOD)
    assert answer.status_code == 200
    assert "Uploaded and checked" in page.text
    assert "upload:" in page.text
    row = page.all("row")[1].text
    assert "my code.zip" in row
    assert "<b>x.py, train.py" in row
    assert "not yet" in row
    (link,) = page.all("link", "of my code.zip")
    again = await stranger.get(URL + link.attributes["href"])
    assert link.attributes["title"] in parse(again.text).text


def encrypted(data: bytes) -> bytes:
    """The zip with the mark of a password on its only entry, in both of its headers."""
    at = data.index(b"PK\x01\x02") + 8
    changed = bytearray(data)
    changed[6] |= 1
    changed[at] |= 1
    return bytes(changed)


@pytest.mark.parametrize(
    ("data", "said", "advice"),
    [
        (b"no zip", "This is no zip", "zip -r code.zip ."),
        (GOOD[: len(GOOD) // 2], "only its beginning", "zip -r code.zip ."),
        (zip_entries(("../evil", b"x")), "leads out of the folder", "from inside"),
        (zip_entries(("/etc/x", b"x")), "absolute path", "relative paths"),
        (zip_entries(("<script>alert(1)</script>/../x", b"x")), "leads out", "from inside"),
        (zip_entries((with_mode("link", 0o120777), b"/etc")), "symbolic link", "the file itself"),
        (encrypted(zip_of({"x.py": "x"})), "is encrypted", "without a password"),
        (zip_of({"zeros": bytes(40_000_000)}), "zip bomb", "make them when the job runs"),
        (zip_entries((zipfile.ZipInfo("empty/"), b"")), "no file in it", "zip -r code.zip ."),
    ],
)
async def test_a_refused_zip_says_why_and_what_to_do_and_nothing_of_it_is_kept(
    client: httpx.AsyncClient,
    page_database: Database,
    settings: Settings,
    data: bytes,
    said: str,
    advice: str,
) -> None:
    before = sorted(settings.home.rglob("*"))
    answer, page = await send(client, data)
    assert answer.status_code == 422
    field = page.labelled("Zip of your code")
    assert field.attributes["aria-invalid"] == "true"
    problem = page.by_id("code-file-problem").text
    assert said in problem
    assert advice in problem
    assert "nothing was stored" in problem
    assert "<script>alert" not in answer.text
    assert "Nothing yet" in page.text
    async with page_database.read() as session:
        for table in (CodeUpload, CodeChunk):
            assert await session.scalar(select(func.count()).select_from(table)) == 0
    assert sorted(settings.home.rglob("*")) == before


async def test_no_file_and_other_forms(client: httpx.AsyncClient) -> None:
    for answer in (
        await client.post(URL),
        await client.post(URL, data={"code": "text"}),
        await client.post(URL, files={"code": ("", b"")}),
    ):
        assert answer.status_code == 422
        assert "Choose a zip first" in answer.text
    many = [("code", ("a.zip", GOOD)), ("code", ("b.zip", GOOD))]
    assert (await client.post(URL, files=many)).status_code == 400


async def test_too_large(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.code.receive.MAX_BYTES", 10)
    answer, page = await send(client, GOOD)
    assert answer.status_code == 413
    assert "nothing was stored" in page.by_id("code-file-problem").text
    declared = {"Content-Length": str(archive.MAX_BYTES * 2)}
    assert (await client.post(URL, content=b"x", headers=declared)).status_code == 413


async def test_a_viewer_sees_and_does_not_upload(
    stranger: httpx.AsyncClient, page_database: Database
) -> None:
    await sign_in_as(stranger, page_database, "vic")
    page = parse((await stranger.get(URL)).text)
    assert not page.all("button", "Upload code")
    assert (await stranger.post(URL, files={"code": ("a.zip", GOOD)})).status_code == 403


async def test_an_upload_of_another_project_is_not_shown(client: httpx.AsyncClient) -> None:
    answer = await client.post(URL, files={"code": ("a.zip", GOOD)})
    slug = answer.headers["location"].rpartition("=")[2]
    assert (await client.get(f"{URL}?uploaded={slug}")).status_code == 200
    for wrong in (f"/projects/default/code?uploaded={slug}", f"{URL}?uploaded=code-nothing1"):
        assert (await client.get(wrong)).status_code == 404
    assert (await client.get(f"{URL}?cursor=nonsense")).status_code == 422
