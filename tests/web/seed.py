"""A lived-in database for page tests: runs in each state, with points, mazes, logs and events."""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from app.access.principal import Actor
from app.clock import utcnow
from app.clusters import service as clusters
from app.db import Database, WriteSession
from app.experiments import service as experiments
from app.logs import service as logs
from app.maze.eval_sets import EASY_SOLVABLE_15
from app.metrics.ingest import MetricPoint, ingest
from app.models import (
    Attempt,
    AttemptStatus,
    ClusterStatus,
    LogStream,
    Run,
    RunStatus,
    TrainingEvaluation,
)
from app.projects import service as projects
from app.runs import service as runs
from app.runs.states import transition, transition_attempt
from app.users import service as users
from app.users.repository import find_user_named

TOTAL_STEPS = 280
ADMIN = Actor("admin", "user:admin")
HOSTILE = '<script>alert("name")</script>'
_KEYS = (
    "eval/all/pass_at_1",
    "eval/all/avg_score",
    "reward/avg_raw_reward",
    "reward/avg_pass_at_8",
    "policy/policy_loss",
    "policy/policy_entropy",
    "policy/grad_norm",
    "policy/policy_lr",
    "environment/avg_step_count",
    "timing/step",
    "timing/generate",
    "timing/policy_train",
)


@dataclass(frozen=True, slots=True)
class Seeded:
    """Slugs of the seeded runs, and the secret of a signed-in administrator's session."""

    session_secret: str
    running: str
    succeeded: str
    failed: str
    queued: str


async def sign_in(database: Database, name: str = "admin") -> str:
    """Makes the administrator if need be; returns the secret of a session."""
    async with database.write() as session:
        user = await find_user_named(session, name)
        if user is not None:
            return await users.create_session(session, user)
        link = await users.create_sign_in_link(session)
        assert link is not None
        _, secret = await users.redeem_link(session, link, name)
        return secret


async def seed(database: Database) -> Seeded:
    """Fills the database. The same numbers each time; times count back from now."""
    secret = await sign_in(database)
    async with database.write() as session:
        cluster = await clusters.ensure_embedded(session)
        cluster.status = ClusterStatus.READY
        cluster.message = ""
        cluster.observed_at = utcnow()
        cluster.details = _DETAILS
    succeeded = await add_run(database, "rank 32, seed 0", steps=280, status="succeeded", age=7200)
    await add_run(
        database, "rank 16, seed 1", steps=280, status="succeeded", age=5400, ceiling=0.95
    )
    failed = await add_run(database, "lr 5e-3", steps=31, status="failed", age=4000, ceiling=0.1)
    await add_run(database, HOSTILE, steps=120, status="stopped", age=3000, ceiling=0.9)
    running = await add_run(database, "rank 32, seed 2", steps=84, status="running", age=30)
    queued = await add_run(database, "rank 32, seed 3", steps=0, status="queued", age=0)
    return Seeded(secret, running, succeeded, failed, queued)


async def add_run(
    database: Database,
    name: str,
    *,
    steps: int,
    status: str,
    age: float,
    ceiling: float = 1.0,
) -> str:
    """One run that reached `steps`, started `age` seconds ago; returns its slug."""
    async with database.write() as session:
        await clusters.ensure_embedded(session)
        home = await projects.ensure_default(session)
        experiment = await experiments.find_by_name(session, home, "maze-grpo")
        if experiment is None:
            experiment = await experiments.create(
                session,
                project=home,
                name="maze-grpo",
                recipe="embedded-maze-grpo",
                config={},
                actor=ADMIN,
            )
        run = await runs.create(session, experiment, actor=ADMIN, name=name)
        if status != "queued":
            await _live(session, run, steps=steps, status=status, age=age, ceiling=ceiling)
        return run.slug


async def add_evaluation(
    session: WriteSession, run: Run, *, step: int, solved: int, attempt: int = 1
) -> None:
    chance = random.Random(f"{run.name}-{step}")  # the same mazes for the same name
    winners = set(chance.sample(EASY_SOLVABLE_15.seeds, solved))
    session.add(
        TrainingEvaluation(
            run_id=run.id,
            attempt_number=attempt,
            step=step,
            env_id=EASY_SOLVABLE_15.env_id,
            max_turns=EASY_SOLVABLE_15.max_turns,
            n=64,
            solved_count=solved,
            passed_count=solved,
            items=[
                {
                    "seed": seed,
                    "solved": seed in winners,
                    "passed": seed in winners,
                    "turns": 13 if seed in winners else 15,
                    "reward": float(seed in winners),
                }
                for seed in EASY_SOLVABLE_15.seeds
            ],
            path=f"global_step_{step}_evals",
            created_at=utcnow(),
        )
    )


async def add_points(session: WriteSession, run: Run, first: int, last: int) -> None:
    """Points of all keys for the steps from `first` to `last`."""
    chance = random.Random(f"{run.name}-{first}")
    start = (run.started_at or run.created_at).timestamp()
    points = [
        MetricPoint(key, step, _value(key, step, chance), start + 0.3 * step)
        for step in range(first, last + 1)
        for key in _KEYS
        if not key.startswith("eval/") or step % 20 == 0
    ]
    await ingest(session, run.id, 1, points)


async def add_log(
    session: WriteSession, run: Run, attempt: Attempt, data: bytes, *, is_complete: bool = False
) -> None:
    stream = await logs.find_stream(session, run, attempt.number)
    if stream is None:
        stream = LogStream(
            attempt_id=attempt.id,
            run_id=run.id,
            attempt_number=attempt.number,
            n_bytes=0,
            n_lines=0,
            has_open_line=False,
        )
        session.add(stream)
        await session.flush()
    await logs.append(session, stream, data)
    stream.is_complete = is_complete


def step_block(step: int, values: Mapping[str, str]) -> bytes:
    """A step as SkyRL's console logger writes it, colours included."""
    head = (
        "\x1b[36m(maze_grpo pid=4711)\x1b[0m "
        f"\x1b[32m2026-11-29 16:13:{step % 60:02d}.000\x1b[0m | "
        "\x1b[1m\x1b[32mINFO    \x1b[0m | \x1b[36mskyrl.train.utils.tracking\x1b[0m:"
        f"\x1b[36mlog\x1b[0m:\x1b[36m189\x1b[0m - \x1b[1mStep {step}: \n"
    )
    rows = [
        f"{'{' if i == 0 else ' '}'{key}': '{value}',"
        for i, (key, value) in enumerate(values.items())
    ]
    body = "\n".join(f"\x1b[36m(maze_grpo pid=4711)\x1b[0m {row}" for row in rows)
    return (head + body[:-1] + "}\x1b[0m\n").encode()


async def _live(
    session: WriteSession, run: Run, *, steps: int, status: str, age: float, ceiling: float
) -> None:
    started = utcnow() - timedelta(seconds=age)
    attempt = Attempt(
        run_id=run.id,
        number=1,
        submission_id=f"{run.slug}-a1",
        status=AttemptStatus.CREATED,
        created_at=started,
    )
    session.add(attempt)
    await session.flush()
    for to in ("submitting", "pending", "running"):
        session.add(transition(run, RunStatus(to), at=started, actor="worker", reason="observed"))
        session.add(
            transition_attempt(
                run, attempt, AttemptStatus(to), at=started, actor="worker", reason="observed"
            )
        )
    run.step, run.total_steps, run.seconds_per_step = steps, TOTAL_STEPS, 0.31
    run.progress_at = utcnow()
    await add_points(session, run, 1, steps)
    for step in range(0, steps + 1, 20):
        share = 0.5 + (ceiling - 0.5) * (1 - math.exp(-step / 70))
        wobble = random.Random(f"{run.name}{step}").uniform(-0.04, 0.04) if step else 0
        solved = round(64 * min(ceiling, max(0.0, share + wobble)))
        await add_evaluation(session, run, step=step, solved=solved)
    is_over = status in ("succeeded", "failed", "stopped")
    await add_log(session, run, attempt, _log_text(run, steps), is_complete=is_over)
    if is_over:
        _end(session, run, attempt, status, started + timedelta(seconds=steps * 0.4))


def _end(session: WriteSession, run: Run, attempt: Attempt, status: str, at: Any) -> None:
    if status == "failed":
        attempt.failure = _FAILURE
        attempt.exit_code = 1
    session.add(
        transition_attempt(
            run, attempt, AttemptStatus(status), at=at, actor="worker", reason="observed"
        )
    )
    message = str(_FAILURE["message"]) if status == "failed" else ""
    session.add(
        transition(
            run, RunStatus(status), at=at, actor="worker", reason="observed", message=message
        )
    )


def _value(key: str, step: int, chance: random.Random) -> float:
    rise = 1 - math.exp(-step / 70)
    noise = chance.gauss(0, 0.02)
    if key == "policy/grad_norm" and step == 40:
        return math.nan
    return {
        "eval/all/pass_at_1": 0.5 + 0.5 * rise,
        "eval/all/avg_score": 0.5 + 0.5 * rise,
        "reward/avg_raw_reward": 0.35 + 0.6 * rise + noise,
        "reward/avg_pass_at_8": 0.8 + 0.2 * rise + noise / 2,
        "policy/policy_loss": -0.02 * (1 - rise) + noise / 4,
        "policy/policy_entropy": 0.27 - 0.2 * rise + noise / 3,
        "policy/grad_norm": 0.4 + 0.2 * rise + abs(noise) * 4,
        "policy/policy_lr": 2e-3 * (1 - 0.9 * step / TOTAL_STEPS),
        "environment/avg_step_count": 14.4 - 1.3 * rise + noise,
        "timing/step": 0.3 + abs(noise),
        "timing/generate": 0.08 + abs(noise) / 3,
        "timing/policy_train": 0.2 + abs(noise) / 2,
    }[key]


def _log_text(run: Run, steps: int) -> bytes:
    head = (
        f"+ exec python -m worker.jobs.maze_grpo trainer.run_name={run.slug}\n"
        "Total steps: 280\n"
        "\x1b[33mNo checkpoint found, starting training from scratch\x1b[0m\n"
        f"model said {HOSTILE}\n"
        "Evaluation Progress:   0%|          | 0/64\rEvaluation Progress: 100%|##########| 64/64\n"
    )
    chance = random.Random(0)
    blocks = [
        step_block(step, {key: f"{_value(key, step, chance):.4f}" for key in _KEYS})
        for step in range(1, steps + 1)
    ]
    return head.encode() + b"".join(blocks)


_FAILURE = {
    "class": "out_of_memory",
    "message": "The trainer ran out of memory at step 31",
    "evidence": [
        "Training failed at step 31 with OutOfMemoryError:",
        "torch.OutOfMemoryError: tried to allocate 2.00 GiB <b>",
    ],
    "hint": "Take a smaller batch or fewer rollouts a maze.",
}
_DETAILS: dict[str, Any] = {
    "ray_version": "2.60.0",
    "nodes": [
        {
            "node_id": "9c1f",
            "address": "127.0.0.1",
            "hostname": "workstation",
            "is_head": True,
            "is_alive": True,
            "cpu_count": 2.0,
            "gpu_count": 0.0,
            "cpu_percent": 63.0,
            "memory_total_bytes": 24_000_000_000,
            "memory_used_bytes": 5_300_000_000,
        }
    ],
}
