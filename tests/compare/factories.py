"""Runs with configs, series and evaluations, as comparisons want them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import utcnow
from app.metrics.charts import HERO_KEY
from app.metrics.columns import Columns
from app.metrics.ingest import ingest_columns
from app.models import Project, Run, TrainingEvaluation
from app.projects import service as projects
from app.runs import service as runs
from tests.factories import ADA

SEEDS = range(64)


async def make_compared(
    session: AsyncSession,
    name: str,
    *,
    config: Mapping[str, Any] | None = None,
    tags: Sequence[str] = (),
    experiment: str = "grid",
    project: Project | None = None,
    solved: Mapping[int, Iterable[int]] | None = None,
    series: Mapping[str, Sequence[float]] | None = None,
) -> Run:
    """`solved`: by step the seeds that were solved, of 64. `series`: values from step 0 on."""
    run = await runs.create_external(
        session,
        project=project or await projects.ensure_default(session),
        name=name,
        actor=ADA,
        experiment=experiment,
        config=config or {},
        tags=tags,
    )
    columns = {
        key: Columns.of([(step, value, step * 1.0) for step, value in enumerate(values)])
        for key, values in (series or {}).items()
    }
    if solved:
        rates = [(step, len(set(seeds)) / len(SEEDS), 1.0) for step, seeds in solved.items()]
        columns[HERO_KEY] = Columns.of(rates)
    if columns:
        await ingest_columns(session, run.id, 1, columns)
    for step, seeds in (solved or {}).items():
        add_evaluation(session, run, step, seeds)
    await session.flush()
    return run


def add_evaluation(
    session: AsyncSession,
    run: Run,
    step: int,
    solved: Iterable[int],
    *,
    attempt: int = 1,
    max_turns: int = 15,
    passed: Iterable[int] = (),
    samples: int = 1,
) -> TrainingEvaluation:
    """Of 64 mazes, `samples` episodes each; what was solved has passed, too."""
    winners = set(solved)
    passers = winners | set(passed)
    items = [
        {
            "seed": seed,
            "solved": seed in winners,
            "passed": seed in passers and sample == 0,
            "turns": 9 if seed in winners else 15,
            "reward": 1.0 if seed in winners else -0.25 - seed / 1000,
        }
        for seed in SEEDS
        for sample in range(samples)
    ]
    row = TrainingEvaluation(
        run_id=run.id,
        attempt_number=attempt,
        step=step,
        env_id="maze_2d/easy",
        max_turns=max_turns,
        n=len(items),
        solved_count=len(winners) * samples,
        passed_count=sum(bool(item["passed"]) for item in items),
        items=items,
        path=f"global_step_{step}_evals",
        created_at=utcnow(),
    )
    session.add(row)
    return row
