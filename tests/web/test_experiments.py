"""The pages of experiments and their versions, without JavaScript."""

import httpx
import pytest

from app.db import Database
from app.experiments import service
from app.models import Experiment
from app.runs import service as runs
from tests.editor.forms import filled, opened, press
from tests.factories import ADA, make_experiment, make_run
from tests.queries import QueryCounter
from tests.web.html import parse

SEED, STEPS = "trainer.seed", "trainer.max_training_steps"


@pytest.fixture
async def experiment(client: httpx.AsyncClient, page_database: Database) -> Experiment:
    """With two versions, and runs of both."""
    async with page_database.write() as session:
        made = await make_experiment(session, name="Rank <b>")
        await make_run(session, experiment=made)
        await service.add_version(session, made, {SEED: 4, STEPS: 20}, actor=ADA)
        await runs.create(session, made, actor=ADA, overrides={SEED: 5}, name="other")
        return made


async def text_of(client: httpx.AsyncClient, path: str) -> str:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return parse(answer.text).text


async def test_the_versions_say_what_changed(
    client: httpx.AsyncClient, experiment: Experiment
) -> None:
    url = f"/experiments/{experiment.slug}"
    shown = await text_of(client, url)
    assert "v2 + overrides" in shown
    assert "v1" in shown
    versions = await text_of(client, f"{url}/versions")
    assert f"{SEED} 0 → 4" in versions
    assert "first version" in versions
    one = await text_of(client, f"{url}/versions/2")
    assert "Changed since version 1" in one
    for path in ("diff", "diff?from=1&to=2"):
        assert f"{STEPS} 280 20" in await text_of(client, f"{url}/{path}")
    assert "the same, to the byte" in await text_of(client, f"{url}/diff?from=2&to=2")
    assert (await client.get(f"{url}/versions/3")).status_code == 404
    assert (await client.get(f"{url}/diff?from=1&to=9")).status_code == 404


async def test_the_cost_of_versions_does_not_grow(
    client: httpx.AsyncClient,
    page_database: Database,
    experiment: Experiment,
    count_queries: QueryCounter,
) -> None:
    costs = []
    for steps in (30, 40):
        async with page_database.write() as session:
            mine = await service.get(session, experiment.slug)
            await service.add_version(session, mine, {STEPS: steps}, actor=ADA)
        with count_queries(page_database) as counted:
            await client.get(f"/experiments/{experiment.slug}/versions")
        costs.append(counted.count)
    assert costs[0] == costs[1]


async def test_a_version_is_launched(client: httpx.AsyncClient, experiment: Experiment) -> None:
    answer = await client.post(f"/experiments/{experiment.slug}/runs", data={"version": "1"})
    assert answer.status_code == 303
    config = await text_of(client, answer.headers["Location"] + "/config")
    assert f"{STEPS} 280" in config


async def test_an_edit_keeps_what_was_typed(
    client: httpx.AsyncClient, experiment: Experiment
) -> None:
    url = f"/experiments/{experiment.slug}/edit"
    form = {"name": "Rank", "hypothesis": "*More*\r\nhelps", "tags": "lora, rank", "revision": "1"}
    refused = await client.post(url, data=form | {"name": ""})
    assert refused.status_code == 422
    page = parse(refused.text)
    assert "printable" in page.one("alert").text
    assert page.labelled("Tags").attributes["value"] == "lora, rank"
    assert (await client.post(url, data=form)).status_code == 303
    assert "<em>More</em>" in (await client.get(url.removesuffix("/edit"))).text


async def test_an_edit_over_that_of_another_is_shown_both(
    client: httpx.AsyncClient, page_database: Database, experiment: Experiment
) -> None:
    url = f"/experiments/{experiment.slug}/edit"
    async with page_database.write() as session:
        mine = await service.get(session, experiment.slug)
        await service.change(session, mine, service.Edit(name="Theirs"), actor=ADA)
    stale = {"name": "Mine", "hypothesis": "", "tags": "", "revision": "1"}
    answer = await client.post(url, data=stale)
    assert answer.status_code == 409
    page = parse(answer.text)
    assert "name Theirs Mine" in page.text
    assert page.labelled("Name").attributes["value"] == "Mine"
    (revision,) = [e for e in page.walk() if e.attributes.get("name") == "revision"]
    form = stale | {"revision": revision.attributes["value"]}
    assert (await client.post(url, data=form)).status_code == 303
    assert "Mine" in await text_of(client, url.removesuffix("/edit"))


async def test_a_fork_leads_back(client: httpx.AsyncClient, experiment: Experiment) -> None:
    url = f"/experiments/{experiment.slug}"
    for version in ("x", "99999999999", "0"):
        refused = await client.post(f"{url}/fork", data={"name": "Mine", "version": version})
        assert refused.status_code == 422
        assert parse(refused.text).labelled("Name").attributes["value"] == "Mine"
    assert "Version" in await text_of(client, f"{url}/fork?version=1")
    answer = await client.post(f"{url}/fork", data={"name": "Mine", "version": "1"})
    fork = answer.headers["Location"]
    page = parse((await client.get(fork)).text)
    assert page.one("link", "Rank <b>, version 1").attributes["href"] == f"{url}/versions/1"
    assert "Mine (from v1)" in await text_of(client, url)


async def test_the_archive_has_a_list_of_its_own(
    client: httpx.AsyncClient, experiment: Experiment
) -> None:
    url = f"/experiments/{experiment.slug}"
    assert (await client.post(f"{url}/archive")).status_code == 303
    page = await text_of(client, url)
    assert "is archived" in page
    assert "Launch version" not in page
    assert "Rank <b>" not in await text_of(client, "/experiments")
    assert "Rank <b>" in await text_of(client, "/experiments?archived=true")
    assert (await client.post(f"{url}/runs")).status_code == 409
    await client.post(f"{url}/restore")
    assert "Rank <b>" in await text_of(client, "/experiments?q=rank")
    assert "fits this filter" in await text_of(client, "/experiments?q=nothing")


async def test_a_version_is_edited_as_typed_into_its_own_experiment(
    client: httpx.AsyncClient, page_database: Database
) -> None:
    text = "# why 3\ntrainer.seed: 3 # not 4\n"
    async with page_database.write() as session:
        mine, other = [await make_experiment(session, name="twice") for _ in range(2)]
        await service.add_version(session, mine, {SEED: 3}, actor=ADA, yaml=text)
    url = f"/runs/new/yaml?from={mine.slug}"
    page = await opened(client, f"{url}&version=2")
    assert dict(filled(page))["yaml"] == text
    saved = await press(client, page, "Save version", yaml=f"{text}# and more\n")
    assert saved.headers["Location"] == f"/experiments/{mine.slug}"
    page = await opened(client, url)
    launched = await press(client, page, "Launch run", yaml=f"{text}# and yet more\n")
    assert launched.status_code == 303
    async with page_database.read() as session:
        run = await runs.get(session, launched.headers["Location"].rpartition("/")[2])
        newest = await service.get_version(session, mine)
        kept = await service.find_yaml(session, newest)
        untouched = await service.get_version(session, other)
    assert (run.experiment_id, run.config.version, newest.version) == (mine.id, 4, 4)
    assert kept == f"{text}# and yet more\n"
    assert untouched.version == 1
    versions = await text_of(client, f"/experiments/{mine.slug}/versions")
    assert versions.count("no value") == 2
    diff = await text_of(client, f"/experiments/{mine.slug}/diff?from=3&to=4")
    assert "No value differs" in diff
    assert "+# and yet more" in diff


async def test_what_was_typed_stays_when_the_experiment_was_archived_meanwhile(
    client: httpx.AsyncClient, page_database: Database, experiment: Experiment
) -> None:
    page = await opened(client, f"/runs/new/yaml?from={experiment.slug}&version=1")
    async with page_database.write() as session:
        await service.archive(session, await service.get(session, experiment.slug), actor=ADA)
    answer = await press(client, page, "Save version", yaml="trainer.seed: 9 # mine\n")
    assert answer.status_code == 422
    assert "archived" in parse(answer.text).one("alert").text
    assert "trainer.seed: 9 # mine" in dict(filled(parse(answer.text)))["yaml"]
