"""Sharing a run, and what a stranger with the link sees: that run's curves, and nothing else."""

from datetime import timedelta

import httpx
import pytest

from app.access.principal import Actor
from app.clock import utcnow
from app.clusters import service as clusters
from app.db import Database
from app.experiments import service as experiments
from app.models import Project, Run, RunStatus
from app.runs import service as runs
from app.runs.states import transition
from tests.sharing.links import revoke, share
from tests.web.html import parse
from tests.web.seed import HOSTILE, Seeded, add_evaluation, add_points, add_run

MARK = "telltale"
_UNDER_WAY = ("submitting", "pending", "running")
_WAYS = {"queued": (), "running": _UNDER_WAY, "failed": (*_UNDER_WAY, "failed")}


async def telltale_run(database: Database, status: str) -> Run:
    """A run all of whose surroundings hold the mark: project, owner, config, cluster, failure."""
    actor = Actor(f"{MARK}-owner", f"user:{MARK}")
    async with database.write() as session:
        project = Project(slug=f"{MARK}-project", name=f"{MARK} Project", created_at=utcnow())
        session.add(project)
        await session.flush()
        cluster = await clusters.ensure_embedded(session)
        cluster.name, cluster.address = f"{MARK}-cluster", f"{MARK}-address"
        cluster.message = f"{MARK}-message"
        experiment = await experiments.create(
            session,
            project=project,
            name=f"{MARK}-experiment",
            recipe="embedded-maze-grpo",
            config={"trainer.seed": 918273},
            actor=actor,
            hypothesis=f"{MARK}-hypothesis",
            tags=[f"{MARK}-tag"],
        )
        await runs.create(session, experiment, actor=actor, name=f"{MARK}-other-run")
        run = await runs.create(
            session, experiment, actor=actor, name="shown name", tags=[f"{MARK}-tag"]
        )
        if status != "queued":
            run.started_at = utcnow() - timedelta(minutes=5)
            await add_points(session, run, 1, 40)
            await add_evaluation(session, run, step=0, solved=30)
            await add_evaluation(session, run, step=20, solved=40)
        for to in _WAYS[status]:
            session.add(
                transition(run, RunStatus(to), at=utcnow(), actor=MARK, reason=MARK, message=MARK)
            )
        run.conditions = [{"kind": "unreachable", "since": "", "message": MARK}]
        return run


@pytest.mark.parametrize("status", ["queued", "running", "failed"])
async def test_nothing_else_is_told(
    stranger: httpx.AsyncClient, sqlite_database: Database, status: str
) -> None:
    run = await telltale_run(sqlite_database, status)
    _, secret = await share(sqlite_database, run.slug)
    page = await stranger.get(f"/shared/{secret}")
    assert page.status_code == 200
    assert "shown name" in page.text
    keys = ["policy/grad_norm", "eval/all/pass_at_1"]
    points = await stranger.get(f"/shared/{secret}/points", params={"key": keys})
    assert len(points.json()["series"]) == (0 if status == "queued" else 2)
    async with sqlite_database.read() as session:
        found = await runs.get(session, run.slug)
    hidden = [
        *(MARK, "918273", run.slug, str(run.id), found.experiment.slug, str(found.project_id)),
        # A cursor names a row of the database.
        *(found.config.digest, "embedded", "cursor"),
    ]
    for text in (page.text, points.text, str(page.headers), str(points.headers)):
        assert [word for word in hidden if word.lower() in text.lower()] == []


async def test_no_link_leads_into_the_application(
    stranger: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database
) -> None:
    for run in (seeded.running, seeded.failed, seeded.queued, seeded.succeeded):
        _, secret = await share(sqlite_database, run)
        page = parse((await stranger.get(f"/shared/{secret}")).text)
        addresses = [
            value
            for element in page.walk()
            for name, value in element.attributes.items()
            if name in ("href", "src", "action", "hx-get", "data-points", "data-plotly")
        ]
        own = ("/static/", f"/shared/{secret}/")
        assert addresses
        assert [each for each in addresses if not each.startswith(own)] == []
        assert page.all("link") == page.all("button") == page.all("textbox") == []


async def test_it_shows_name_status_curves_and_mazes(
    stranger: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database
) -> None:
    _, secret = await share(sqlite_database, seeded.running)
    page = parse((await stranger.get(f"/shared/{secret}")).text)
    assert page.all("heading")[0].text == "rank 32, seed 2"
    assert "Running step 84 of 280" in page.one("main").text
    assert page.by_id("hero-chart")
    assert len([e for e in page.by_id("mazes").walk() if e.tag == "li"]) == 64
    assert page.one("heading", "Gradient norm")


async def test_its_points_are_those_of_its_run_only(
    stranger: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database
) -> None:
    _, secret = await share(sqlite_database, seeded.failed)
    answer = await stranger.get(
        f"/shared/{secret}/points", params={"key": "policy/grad_norm", "run": seeded.running}
    )
    (series,) = answer.json()["series"]
    assert set(series) == {"key", "step", "value", "odd"}
    assert series["step"][-1] == 31


@pytest.mark.parametrize(
    "query", [{}, {"key": "no/such"}, {"key": ["x"] * 500}, {"key": "\ud7ff"}, {"key": ""}]
)
async def test_no_query_breaks_the_points(
    stranger: httpx.AsyncClient,
    seeded: Seeded,
    sqlite_database: Database,
    query: dict[str, str | list[str]],
) -> None:
    _, secret = await share(sqlite_database, seeded.failed)
    answer = await stranger.get(f"/shared/{secret}/points", params=query)
    assert (answer.status_code, answer.json()) == (200, {"series": []})


@pytest.mark.parametrize("tail", ["", "/points", "/points?key=policy/grad_norm"])
async def test_all_that_is_wrong_with_a_link_looks_the_same(
    stranger: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database, tail: str
) -> None:
    revoked, first = await share(sqlite_database, seeded.succeeded)
    await revoke(sqlite_database, seeded.succeeded, revoked.slug)
    past = utcnow() - timedelta(days=8)
    _, second = await share(sqlite_database, seeded.succeeded, now=past)
    _, third = await share(sqlite_database, seeded.failed)
    async with sqlite_database.write() as session:
        run = await runs.get(session, seeded.failed)
        await runs.delete(session, run, actor=Actor("ada", "user:1"))
    unknown = "A" * 43
    answers = [
        await stranger.get(f"/shared/{secret}{tail}")
        for secret in (unknown, first, second, third, "x", "%F0%9F%92%A9")
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.text for answer in answers}) == 1
    headers = [dict(answer.headers) for answer in answers]
    for each in headers:
        each.pop("x-request-id")
    assert all(each == headers[0] for each in headers)
    assert "sign-in" not in answers[0].text


@pytest.mark.parametrize("kind", ["page", "points", "gone"])
async def test_the_address_is_kept_from_others(
    stranger: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database, kind: str
) -> None:
    _, secret = await share(sqlite_database, seeded.failed)
    path = {"page": secret, "points": f"{secret}/points?key=x", "gone": "x"}[kind]
    headers = (await stranger.get(f"/shared/{path}")).headers
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["x-robots-tag"] == "noindex, nofollow"
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "set-cookie" not in headers


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_link_changes_nothing(
    stranger: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database, method: str
) -> None:
    _, secret = await share(sqlite_database, seeded.failed)
    for path in (f"/shared/{secret}", f"/shared/{secret}/points"):
        assert (await stranger.request(method, path)).status_code == 405


async def test_a_link_opens_no_other_page(
    stranger: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database
) -> None:
    _, secret = await share(sqlite_database, seeded.running)
    for path in (f"/runs/{seeded.running}", f"/series?run={seeded.running}&key=x", "/runs"):
        answer = await stranger.get(path, headers={"Referer": f"/shared/{secret}"})
        assert answer.status_code in (303, 401), path
    answer = await stranger.get(
        f"/api/v1/runs/{seeded.running}", headers={"Authorization": f"Bearer {secret}"}
    )
    assert answer.status_code == 401


async def test_a_hostile_name_is_text(
    stranger: httpx.AsyncClient, sqlite_database: Database
) -> None:
    run = await add_run(sqlite_database, HOSTILE, steps=20, status="running", age=5)
    _, secret = await share(sqlite_database, run)
    text = (await stranger.get(f"/shared/{secret}")).text
    assert HOSTILE not in text
    assert "&lt;script&gt;" in text


async def test_sharing_from_the_page_of_a_run(client: httpx.AsyncClient, seeded: Seeded) -> None:
    run = parse((await client.get(f"/runs/{seeded.running}")).text)
    url = run.one("link", "Share").attributes["href"]
    form = parse((await client.get(url)).text)
    choices = form.labelled("Ends after")
    assert [e.text for e in choices.walk() if e.tag == "option"] == [
        "1 day",
        "7 days",
        "30 days",
        "90 days",
    ]
    made = await client.post(url, data={"life": "30 days"})
    assert made.status_code == 201
    page = parse(made.text)
    address = next(e.text for e in page.walk() if e.attributes.get("class") == "secret")
    assert (await client.get(address)).status_code == 200
    listed = parse((await client.get(url)).text)
    assert address.rpartition("/")[2] not in (await client.get(url)).text
    (row,) = listed.one("table").all("row")[1:]
    assert "admin" in row.text
    assert "in 30 d" in row.text
    revoked = await client.post(
        next(
            e.attributes["action"]
            for e in listed.walk()
            if "/revoke" in e.attributes.get("action", "")
        )
    )
    assert revoked.status_code == 303
    assert "Link revoked" in (await client.get(revoked.headers["location"])).text
    assert (await client.get(address)).status_code == 404


async def test_an_unknown_lifetime_is_explained(client: httpx.AsyncClient, seeded: Seeded) -> None:
    answer = await client.post(f"/runs/{seeded.running}/share", data={"life": "for ever"})
    assert answer.status_code == 422
    field = parse(answer.text).labelled("Ends after")
    assert field.attributes["aria-invalid"] == "true"
    assert 'class="secret"' not in answer.text


async def test_the_log_line_of_a_request_holds_no_secret(
    stranger: httpx.AsyncClient,
    seeded: Seeded,
    sqlite_database: Database,
    caplog: pytest.LogCaptureFixture,
) -> None:
    _, secret = await share(sqlite_database, seeded.failed)
    with caplog.at_level("DEBUG", logger="app.requests"):
        await stranger.get(f"/shared/{secret}/points?key=x")
        await stranger.get(f"/shared/{secret}x")
    lines = [str(record.__dict__) for record in caplog.records if record.name == "app.requests"]
    assert len(lines) == 2
    assert not any(secret in line for line in lines)
