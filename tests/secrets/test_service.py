"""Secrets are set, listed without values, replaced, deleted; what may be named and what not."""

import pytest
from sqlalchemy import select, update

from app.access.principal import Actor
from app.clock import utcnow
from app.clusters import service as clusters
from app.db import Database
from app.errors import Conflict, Invalid, NotFound
from app.models import Attempt, AttemptStatus, AuditEntry, Project, Run, Secret
from app.projects import service as projects
from app.runs import service as runs
from app.secrets import repository, service
from app.secrets.crypto import KeyMissing
from app.secrets.vault import vault_of
from tests.factories import ADA, make_experiment, make_run

STEERING = (
    *("OPENSSL_CONF", "GCONV_PATH", "GLIBC_TUNABLES", "SSL_CERT_FILE", "HTTPS_PROXY", "ALL_PROXY"),
    *("NODE_OPTIONS", "PERL5LIB", "RUBYOPT", "GIT_SSH_COMMAND", "MALLOC_PERTURB_"),
    *("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "NVIDIA_VISIBLE_DEVICES", "NCCL_DEBUG"),
)
VALUE = "hf_Zx81kkLmPq"
GRACE = Actor("grace", "user:grace")


async def put(database: Database, name: str = "HF_TOKEN", value: str = VALUE) -> Project:
    async with database.write() as session:
        project = await projects.ensure_default(session)
        await service.put(session, project.id, name, value, actor=ADA)
        return project


async def test_a_value_is_stored_encrypted_and_listed_without_it(vaulted: Database) -> None:
    project = await put(vaulted)
    async with vaulted.read() as session:
        [listed] = await service.list_all(session, project.id)
        row = (await session.scalars(select(Secret))).one()
        assert (listed.name, listed.created_by, listed.config_count) == ("HF_TOKEN", "ada", 0)
        assert VALUE not in row.ciphertext
        assert vault_of(session).open(row) == VALUE


async def test_replacing_keeps_who_made_it_and_writes_an_audit_row(vaulted: Database) -> None:
    project = await put(vaulted)
    async with vaulted.write() as session:
        is_new = await service.put(session, project.id, "HF_TOKEN", "another value", actor=GRACE)
    assert not is_new
    async with vaulted.read() as session:
        [listed] = await service.list_all(session, project.id)
        assert listed.created_by == "ada"
        row = (await session.scalars(select(Secret))).one()
        assert vault_of(session).open(row) == "another value"
        entries = (await session.scalars(select(AuditEntry).order_by(AuditEntry.id))).all()
    found = [(entry.action, entry.actor) for entry in entries if entry.object_kind == "secret"]
    assert found == [("secret.create", "ada"), ("secret.change", "grace")]


async def test_a_project_and_the_site_may_have_the_same_name(vaulted: Database) -> None:
    project = await put(vaulted)
    async with vaulted.write() as session:
        assert await service.put(session, None, "HF_TOKEN", "of the site", actor=ADA)
    async with vaulted.write() as session:
        await service.delete(session, None, "HF_TOKEN", actor=ADA)
    async with vaulted.read() as session:
        assert len(await service.list_all(session, project.id)) == 1
        assert await service.list_all(session, None) == []


async def test_what_is_not_there_cannot_be_deleted(vaulted: Database) -> None:
    async with vaulted.write() as session:
        with pytest.raises(NotFound):
            await service.delete(session, None, "HF_TOKEN", actor=ADA)


@pytest.mark.parametrize(
    "name",
    ["", "hf_token", "1ST", "HF TOKEN", "HF-TOKEN", "A" * 101, "ÄPFEL", "HF_TOKEN\n", "A~B"],
)
def test_names_are_those_of_environment_variables(name: str) -> None:
    with pytest.raises(Invalid, match="capital letters"):
        service.checked_name(name)


@pytest.mark.parametrize(
    "name", ["SKYDECK_URL", "RAY_ADDRESS", "LD_PRELOAD", "PYTHONPATH", "PATH", *STEERING]
)
def test_names_that_steer_programs_are_refused(name: str) -> None:
    with pytest.raises(Invalid, match="take another name"):
        service.checked_name(name)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("tiny", "at least 8 characters"),
        (" tiny    \n ", "at least 8 characters"),
        ("--------------", "different characters"),
        ("x" * 9_000 + "abc" * 3_000, "16,000 bytes"),
        ("abcd1234" * 100, "repeated"),
        ("abcd1234" * 100 + "abc", "repeated"),
        ("nul\0in the middle", "NUL"),
        ("half \ud800 of a sign", "half"),
    ],
)
def test_values_that_cannot_be_kept_or_masked_are_refused_without_being_shown(
    value: str, said: str
) -> None:
    with pytest.raises(Invalid, match=said) as caught:
        service.checked_value(value)
    assert value.strip() not in caught.value.message


async def test_a_text_of_another_row_cannot_be_opened(vaulted: Database) -> None:
    project = await put(vaulted)
    async with vaulted.write() as session:
        await service.put(session, None, "SITE_KEY", "of the site", actor=ADA)
    async with vaulted.write() as session:
        site = await service.find(session, None, "SITE_KEY")
        row = await service.find(session, project.id, "HF_TOKEN")
        row.ciphertext = site.ciphertext
        with pytest.raises(KeyMissing, match="another"):
            vault_of(session).open(row)


async def test_a_launch_names_secrets_of_its_project(vaulted: Database) -> None:
    await put(vaulted)
    async with vaulted.write() as session:
        await service.put(session, None, "SITE_KEY", "of the site", actor=ADA)
        (await clusters.ensure_embedded(session)).shows_secrets = True
    async with vaulted.write() as session:
        experiment = await make_experiment(session, config={"job.secrets": "HF_TOKEN, HF_TOKEN"})
        run = await runs.create(session, experiment, actor=ADA)
        assert run.config.values["job.secrets"] == "HF_TOKEN"
    for names, said in (("HF_TOKE", "did you mean HF_TOKEN"), ("SITE_KEY", "there are HF_TOKEN")):
        with pytest.raises(Invalid, match=said):
            await _launch(vaulted, {"job.secrets": names})
    async with vaulted.read() as session:
        [listed] = await service.list_all(session, run.project_id)
    assert listed.config_count == 1


async def test_a_cluster_that_would_show_them_is_refused(vaulted: Database) -> None:
    await put(vaulted)
    with pytest.raises(Invalid, match="ask an administrator") as caught:
        await _launch(vaulted, {"job.secrets": "HF_TOKEN"})
    assert [(each.field, each.rule) for each in caught.value.problems] == [
        ("job.secrets", "shows_secrets")
    ]


@pytest.mark.parametrize(
    "config",
    [
        {"data.val_data": VALUE},
        {"data.val_data": f"https://x?token={VALUE}"},
        {"job.secrets": VALUE},
        {"trainer.seed": VALUE},
    ],
)
async def test_a_value_in_a_config_is_refused_and_not_repeated(
    vaulted: Database, config: dict[str, str]
) -> None:
    await put(vaulted)
    with pytest.raises(Invalid, match="value of secret HF_TOKEN") as caught:
        await _launch(vaulted, config)
    assert VALUE not in repr(caught.value.problems) + caught.value.message


async def test_a_value_in_a_name_or_a_pushed_config_is_refused(vaulted: Database) -> None:
    project = await put(vaulted)
    for given in ({"name": f"run {VALUE}"}, {"name": "x", "config": {"a": [{"b": VALUE}]}}):
        async with vaulted.write() as session:
            with pytest.raises(Invalid, match="HF_TOKEN"):
                await runs.create_external(session, project=project, actor=ADA, **given)


async def test_an_old_value_is_masked_until_no_job_can_print_it(vaulted: Database) -> None:
    project = await put(vaulted)
    run_id = await _running_attempt(vaulted)
    await put(vaulted, value="the next value")
    async with vaulted.write() as session:
        await service.forget_retired(session)
        masker = await service.masker(session, [project.id])
        assert masker.text(VALUE) == "***HF_TOKEN***"
        assert masker.text("the next value") == "***HF_TOKEN***"
        assert [each.name for each in await service.list_all(session, project.id)] == ["HF_TOKEN"]
    async with vaulted.write() as session:
        ended = update(Attempt).where(Attempt.run_id == run_id)
        await session.execute(ended.values(status=AttemptStatus.STOPPED))
        await service.forget_retired(session)
    async with vaulted.read() as session:
        assert (await service.masker(session, [project.id])).text(VALUE) == VALUE
        assert len((await session.scalars(select(Secret))).all()) == 1


async def test_a_deleted_value_goes_at_once_where_no_job_runs(vaulted: Database) -> None:
    project = await put(vaulted)
    async with vaulted.write() as session:
        await service.delete(session, project.id, "HF_TOKEN", actor=ADA)
    async with vaulted.read() as session:
        assert (await session.scalars(select(Secret))).all() == []


async def test_of_two_that_set_the_same_name_at_once_one_is_told(
    vaulted: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(vaulted)

    async def nobody(*_: object) -> None:
        return None

    monkeypatch.setattr(repository, "find", nobody)
    with pytest.raises(Conflict, match="try again"):
        await put(vaulted, value="at the same time")


async def _launch(database: Database, config: dict[str, str]) -> Run:
    async with database.write() as session:
        experiment = await make_experiment(session, config=config)
        return await runs.create(session, experiment, actor=ADA)


async def _running_attempt(database: Database) -> object:
    async with database.write() as session:
        run = await make_run(session)
        session.add(
            Attempt(
                run_id=run.id,
                number=1,
                submission_id=f"{run.slug}-a1",
                status=AttemptStatus.RUNNING,
                created_at=utcnow(),
            )
        )
        return run.id
