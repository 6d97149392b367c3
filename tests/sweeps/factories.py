"""Sweeps made by the service."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Experiment, Sweep
from app.sweeps import service
from app.sweeps.expansion import Grid
from app.sweeps.service import Request
from tests.factories import ADA, make_experiment

SEED, STEPS = "trainer.seed", "trainer.max_training_steps"


async def make_sweep(
    session: AsyncSession, *, experiment: Experiment | None = None, runs: int = 3, **given: Any
) -> Sweep:
    """A grid over as many seeds as there are to be runs."""
    home = experiment or await make_experiment(session)
    request = Request(space=Grid({SEED: tuple(range(1, runs + 1))}), **given)
    subject = await service.subject(session, home)
    plan = await service.plan(subject, request)
    made = await service.create(session, subject, request, plan, actor=ADA)
    return await service.get(session, made.slug)
