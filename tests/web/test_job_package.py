"""The config tab of a run whose job is a package: all its files, and the package itself."""

import io
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from app.clusters import service as clusters
from app.code import service as code
from app.code.receive import received
from app.db import Database
from app.experiments import service as experiments
from app.models import CodeUpload
from app.projects import service as projects
from app.recipes import service as recipes
from app.runs import job_package
from app.runs import service as runs
from app.settings import Settings
from tests.code.zips import zip_of
from tests.factories.runs import ADA, make_external_run
from tests.web.html import parse


async def pieces() -> AsyncIterator[bytes]:
    yield zip_of({"mine.py": "print(1)", "data.ckpt": "large"})


@pytest.fixture
async def upload(sqlite_database: Database, settings: Settings, tmp_path: Path) -> CodeUpload:
    settings.home.mkdir(exist_ok=True)
    async with sqlite_database.write() as session:
        project = await projects.ensure_default(session)
        await clusters.ensure_embedded(session)
        cluster = await clusters.get(session, "embedded")
        await clusters.set_consents(session, cluster, actor=ADA, runs_member_code=True)
    async with received(pieces(), tmp_path) as given:
        return await code.add(sqlite_database, project.id, given, name="mine.zip", actor=ADA)


@pytest.fixture
async def slug(sqlite_database: Database, upload: CodeUpload) -> str:
    """A run of a command in the uploaded code."""
    config = {
        "job.entrypoint": "python mine.py",
        "job.working_dir": code.reference(upload),
        "job.excludes": ["*.ckpt"],
    }
    async with sqlite_database.write() as session:
        project = await projects.ensure_default(session)
        experiment = await experiments.create(
            session, project=project, name="mine", recipe="command", config=config, actor=ADA
        )
        return (await runs.create(session, experiment, actor=ADA)).slug


async def test_the_config_tab_shows_how_the_job_is_submitted_and_from_what(
    client: httpx.AsyncClient, slug: str, upload: CodeUpload
) -> None:
    page = parse((await client.get(f"/runs/{slug}/config")).text)
    command = page.one("region", "Submit command").text
    assert "ray job submit" in command
    assert code.reference(upload) in command
    assert "python mine.py" in page.one("region", "train_job.sh").text
    rows = [row.text for row in page.all("row", "job.entrypoint")]
    assert "job.entrypoint python train.py python mine.py" in rows
    link = page.one("link", "Download the job package")
    assert link.attributes["href"] == f"/runs/{slug}/package.zip"


async def test_the_package_holds_the_jobs_files_and_the_uploaded_code(
    client: httpx.AsyncClient, sqlite_database: Database, slug: str
) -> None:
    async with sqlite_database.read() as session:
        values = (await runs.get(session, slug)).config.values
    files = recipes.render(recipes.get("command"), values).files
    answer = await client.get(f"/runs/{slug}/package.zip")
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{slug}.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as packed:
        found = {name: packed.read(name).decode() for name in packed.namelist()}
    assert found == {**files, "mine.py": "print(1)"}


async def test_a_run_that_others_execute_has_no_package(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    async with sqlite_database.write() as session:
        run = await make_external_run(session)
    answer = await client.get(f"/runs/{run.slug}/package.zip")
    assert answer.status_code == 404
    assert "no job package" in answer.text
    page = parse((await client.get(f"/runs/{run.slug}/config")).text)
    assert "Download" not in page.text


async def test_a_full_disk_is_said(
    client: httpx.AsyncClient, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_home: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(job_package, "_open", full)
    answer = await client.get(f"/runs/{slug}/package.zip")
    assert answer.status_code == 503
    assert "No space left" in answer.text
