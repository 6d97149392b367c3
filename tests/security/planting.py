"""Twenty secrets, planted as people set them, and printed by a job in every way."""

import io
import logging
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import structlog

from app.access.permissions import Scope
from app.clusters import registry
from app.clusters.registration import Wish
from app.clusters.service import ensure_embedded
from app.code import service as code
from app.code.receive import received
from app.db import Database
from app.logs import service as logs
from app.models import ClusterStatus, RunStatus
from app.observability.logging import configure
from app.projects import service as projects
from app.ray.errors import RayRefused
from app.ray.gateway import JobStatus
from app.runs import service as runs
from app.secrets import service as secrets
from app.sharing import service as sharing
from app.users import service as users
from tests.api.helpers import make_token
from tests.code.zips import zip_of
from tests.episodes.factories import add_rollouts
from tests.evaluations.factories import add_endpoint, add_played
from tests.factories import ADA, make_experiment, make_promotion
from tests.playground.factories import add_episode, said
from tests.secrets.conftest import with_keys
from tests.security.planted import ALL, PROJECT, SITE, printed
from tests.sweeps.factories import make_sweep
from tests.web.seed import sign_in
from tests.worker.reconcilers.conftest import Bench, make_bench

TRACKING = "2026-11-29 12:00:01.500 | INFO     | skyrl.train.utils.tracking:log:120 - "


@dataclass(frozen=True, slots=True)
class Planted:
    """What the job left behind. `urls`: values for the parameters of addresses by their head."""

    home: Path
    file: Path
    service_log: str
    urls: dict[str, dict[str, str]]
    cookie: str
    token: str
    stream: bytes


async def plant(database: Database, home: Path, captured: io.StringIO) -> Planted:
    bench = await make_bench(with_keys(database, home / "secret.keys"), home)
    cookie, token = await sign_in(database), await make_token(database, Scope.ADMIN)
    slug = await _launch(bench)
    await bench.settle()
    bench.gateway.start(f"{slug}-a1")
    await bench.step()
    await _print_all(bench, slug)
    quoted = "\n".join(text for value in ALL.values() for text in printed(value))
    await bench.end_job(
        slug, JobStatus.FAILED, message=f"RuntimeError: {quoted}", driver_exit_code=1
    )
    assert (await bench.read(slug)).status is RunStatus.FAILED
    await _refuse(bench)
    async with database.write() as session:
        run = await runs.get(session, slug)
        _, shared = await sharing.create(session, run, actor=ADA, days=1)
        episode = await add_episode(session, run.project_id, said("right"))
        await add_rollouts(session, run, said("right", "up"))
        _, watched = await sharing.create(session, episode, actor=ADA, days=1)
        stream = await logs.find_stream(session, run, 1)
        assert stream is not None
    stored = b"".join([part async for part in logs.iter_bytes(database, stream.id)])
    logging.getLogger("x").info("failed with %s", ALL["P_PLAIN"])
    async with database.read() as session:
        user_id = str((await users.get_user_named(session, "admin")).id)
    code_id = await _upload(database, home)
    async with database.write() as session:
        sweep = await make_sweep(session, experiment=run.experiment)
        wish = Wish(name="far", address="http://ray.example:8265", credential="token")
        far = await registry.create(session, replace(wish, secret=ALL["S_PLAIN"]), actor=ADA)
        check = await registry.ask_check(session, far, actor=ADA)
        default = await projects.get(session, "default")
        other = (await runs.create_external(session, project=default, name="other", actor=ADA)).slug
        evaluation = (await add_played(session, default, "a", "b")).slug
        await add_endpoint(session, "a")
        promotion = await make_promotion(session, run)
        adapter, checkpoint = promotion.adapter.slug, promotion.adapter.checkpoint.slug
    return Planted(
        home=home,
        file=Path(str(database.engine.url.database)),
        service_log=captured.getvalue(),
        urls={
            "/runs": {
                "slug": slug,
                "other": other,
                "run_id": slug,
                "attempt": "1",
                "step": "7",
                "number": "1",
                "lane": "1",
                "turn": "1",
            },
            "/experiments": {
                "slug": run.experiment.slug,
                "experiment_id": run.experiment.slug,
                "experiment_name": quote(run.experiment.name),
                "version": "1",
            },
            "/projects": {"slug": "default", "project_id": "default", "name": "P_PLAIN"},
            "/clusters": {"slug": far.slug, "cluster_id": far.slug},
            "/checks": {"check_id": check.slug},
            "/endpoints": {"slug": "fake", "endpoint_id": "fake"},
            "/code": {"code_id": code_id},
            "/episodes": {"episode_id": episode.slug, "lane": "1", "turn": "1"},
            "/evaluations": {"slug": evaluation, "evaluation_id": evaluation},
            "/sweeps": {"slug": sweep.slug, "sweep_id": sweep.slug},
            "/checkpoints": {"slug": checkpoint, "checkpoint_id": checkpoint},
            "/promotions": {"slug": promotion.slug, "promotion_id": promotion.slug},
            "/adapters": {"slug": adapter, "adapter_id": adapter},
            "/recipes": {"name": "embedded-maze-grpo"},
            "/settings": {"name": "S_PLAIN", "user_id": user_id},
            "/shared": {"secret": shared},
            "/shared/{secret}/pictures": {"secret": watched, "lane": "1", "turn": "1"},
            "/playground": {"slug": episode.slug, "lane": "1", "turn": "1"},
        },
        cookie=cookie,
        token=token,
        stream=stored,
    )


async def _upload(database: Database, home: Path) -> str:
    async def sent() -> AsyncIterator[bytes]:
        yield zip_of({"train.py": "print(1)"})

    async with database.write() as session:
        project = await projects.ensure_default(session)
    async with received(sent(), home) as given:
        return (await code.add(database, project.id, given, name="x.zip", actor=ADA)).slug


async def _launch(bench: Bench) -> str:
    """A run that is given all secrets of its project."""
    async with bench.database.write() as session:
        project = await projects.ensure_default(session)
        for name, value in PROJECT.items():
            await secrets.put(session, project.id, name, value, actor=ADA)
        for name, value in SITE.items():
            await secrets.put(session, None, name, value, actor=ADA)
        experiment = await make_experiment(session, config={"job.secrets": ", ".join(PROJECT)})
        cluster = await ensure_embedded(session)
        cluster.shows_secrets, cluster.status = True, ClusterStatus.READY
        run = await runs.create(session, experiment, actor=ADA)
        run.due_at = run.created_at = bench.clock()
        slug = run.slug
    await bench.settle()
    given = bench.gateway.environments[f"{slug}-a1"]
    assert {name: given[name] for name in PROJECT} == PROJECT
    assert not given.keys() & SITE.keys()
    return slug


async def _print_all(bench: Bench, slug: str) -> None:
    """In pieces of any size, so that values are cut anywhere."""
    chance = random.Random(4)
    text = "".join(f"{line}\n" for value in ALL.values() for line in printed(value))
    text += "".join(
        f"{TRACKING}Step {step}: \n{{'reward/{value}': '0.5000',\n 'loss': '{step}.0'}}\n"
        f"{TRACKING.replace('tracking:log:120', 'trainer:run:88')}Started: '{value}'\n"
        f"{TRACKING.replace('tracking:log:120', 'trainer:run:88')}Dumped eval data for {value} "
        f"to exports/{value}/global_step_{step}_evals/x.jsonl\n"
        for step, value in enumerate(ALL.values(), start=1)
    )
    text += "".join(f"RuntimeError: {value}\n" for value in ALL.values())
    data = text.encode()
    while data:
        size = chance.choice((7, 100, 3_000, 40_000))
        bench.write_log(slug, data[:size])
        data = data[size:]
        await bench.step()


async def _refuse(bench: Bench) -> None:
    """Ray may quote a job's environment when it cannot set it up."""
    value = PROJECT["P_QUOTES"]
    bench.gateway.refusal = RayRefused(f"cannot set up {value}", detail=f"env_vars: {value!r}")
    await bench.add_run()
    await bench.step()
    bench.gateway.refusal = None


@contextmanager
def logging_to(stream: io.StringIO) -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    configure("debug", "text", stream)
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        structlog.reset_defaults()
