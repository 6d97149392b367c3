"""A job that brings code runs in a package of it; a bad or missing one is said, not submitted."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from app.clusters import service as clusters
from app.code import service as code
from app.code.receive import received
from app.db import Database
from app.errors import Invalid
from app.experiments import service as experiments
from app.models import CodeChunk, CodeUpload, RunStatus
from app.projects import service as projects
from app.ray.gateway import JobStatus
from app.runs import service as runs
from tests.code.zips import zip_of
from tests.factories import ADA
from tests.secrets.conftest import with_keys
from tests.worker.reconcilers.conftest import Bench, make_bench

FILES = {"train.py": "print(1)\n", "data/big.ckpt": "x" * 1_000}


@pytest.fixture
async def bench(sqlite_database: Database, tmp_path: Path) -> Bench:
    home = tmp_path / "home"
    made = await make_bench(with_keys(sqlite_database, home / "secret.keys"), home)
    async with made.database.write() as session:
        cluster = await clusters.get(session, "embedded")
        await clusters.set_consents(session, cluster, actor=ADA, runs_member_code=True)
    return made


async def upload(bench: Bench, files: dict[str, str] | None = None) -> CodeUpload:
    async def pieces() -> Any:
        yield zip_of(files or FILES)

    async with bench.database.write() as session:
        project = await projects.ensure_default(session)
    async with received(pieces(), bench.home) as given:
        return await code.add(bench.database, project.id, given, name="code.zip", actor=ADA)


async def queue(bench: Bench, **config: Any) -> str:
    values = {"job.entrypoint": "python train.py"} | {f"job.{k}": v for k, v in config.items()}
    async with bench.database.write() as session:
        project = await projects.ensure_default(session)
        experiment = await experiments.create(
            session, project=project, name="mine", recipe="command", config=values, actor=ADA
        )
        run = await runs.create(session, experiment, actor=ADA)
        run.due_at = run.created_at = bench.clock()
        return run.slug


def content(bench: Bench, job: str) -> dict[str, str]:
    name = bench.gateway.packages_of[job]
    assert name is not None
    with zipfile.ZipFile(io.BytesIO(bench.gateway.packages[name])) as packed:
        return {each: packed.read(each).decode() for each in packed.namelist()}


async def test_code_and_script_are_the_jobs_working_directory(bench: Bench) -> None:
    source = code.reference(await upload(bench))
    slug = await queue(
        bench,
        working_dir=source,
        excludes=["*.ckpt"],
        environment={"OUT": "/x/{run_id}", "PRICE": "5 $USD", "SKY": "blue"},
        setup_commands=["pip list"],
    )
    await bench.settle()
    job = f"{slug}-a1"
    found = content(bench, job)
    assert found.keys() == {"train.py", "train_job.sh"}
    assert found["train.py"] == FILES["train.py"]
    assert bench.gateway.jobs[job].entrypoint == "exec bash train_job.sh"
    given = bench.gateway.environments[job]
    assert (given["OUT"], given["SKY"]) == (f"/x/{slug}", "blue")
    # Ray would put something else in for it; the script sets it as it is.
    assert "PRICE" not in given
    assert "export PRICE='5 $USD'" in found["train_job.sh"]
    assert given["SKYDECK_RUN_DIR"] == str(bench.home / "runs" / slug)
    assert (bench.home / "runs" / slug).is_dir()
    assert not [each for each in bench.home.iterdir() if each.is_file() and each.suffix == ".zip"]


async def test_a_package_is_uploaded_once(bench: Bench) -> None:
    source = code.reference(await upload(bench))
    slug = await queue(bench, working_dir=source)
    await bench.settle()
    bench.gateway.start(f"{slug}-a1")
    (name,) = bench.gateway.packages
    bench.gateway.packages[name] += b"marked"
    await bench.end_job(slug, JobStatus.FAILED)
    for _ in range(70):
        await bench.step()
    await bench.change(slug, runs.request_resume)
    await bench.step()
    assert bench.gateway.packages_of[f"{slug}-a2"] == name
    assert bench.gateway.packages[name].endswith(b"marked")


async def test_code_on_git_needs_no_upload(bench: Bench) -> None:
    slug = await queue(bench, working_dir=f"https://host/o/r@{'a' * 40}")
    await bench.settle()
    assert content(bench, f"{slug}-a1").keys() == {"get_code.py", "train_job.sh"}


async def test_an_upload_that_is_not_there_is_refused_at_the_launch(bench: Bench) -> None:
    with pytest.raises(Invalid, match="upload it"):
        await queue(bench, working_dir=f"upload:{'0' * 64}")


async def test_a_zip_that_replaces_the_script_is_refused_at_the_launch(bench: Bench) -> None:
    source = code.reference(await upload(bench, {"train_job.sh": "evil"}))
    with pytest.raises(Invalid, match="at its top"):
        await queue(bench, working_dir=source)


async def test_an_upload_that_is_gone_ends_the_run_and_says_so(bench: Bench) -> None:
    row = await upload(bench)
    slug = await queue(bench, working_dir=code.reference(row))
    async with bench.database.write() as session:
        found = await session.get_one(CodeUpload, row.id)
        found.sha256 = "f" * 64
    await bench.settle()
    await fails(bench, slug, "no longer kept")


async def test_an_upload_that_was_damaged_ends_the_run_and_says_so(bench: Bench) -> None:
    row = await upload(bench)
    slug = await queue(bench, working_dir=code.reference(row))
    async with bench.database.write() as session:
        chunk = await session.get_one(CodeChunk, (row.id, 0))
        chunk.payload = chunk.payload[:-1]
    await fails(bench, slug, "not whole")


async def fails(bench: Bench, slug: str, said: str) -> None:
    for _ in range(4):
        await bench.step()
    run = await bench.read(slug)
    assert run.status is RunStatus.FAILED
    failure = run.attempts[-1].failure
    assert failure is not None
    assert (failure["class"], said in failure["message"]) == ("no_code", True)
    assert "Upload the zip again" in failure["hint"]
    assert bench.gateway.submitted == []


async def test_a_value_of_a_secret_in_the_environment_is_refused(bench: Bench) -> None:
    from app.secrets import service as secrets

    async with bench.database.write() as session:
        project = await projects.ensure_default(session)
        await secrets.put(session, project.id, "HF_TOKEN", "hf_Zx81kkLmPq", actor=ADA)
    with pytest.raises(Invalid, match="HF_TOKEN") as caught:
        await queue(bench, environment={"TOKEN": "hf_Zx81kkLmPq"})
    assert caught.value.problems[0].field == "job.environment"
    assert "hf_Zx81kkLmPq" not in str(caught.value)
