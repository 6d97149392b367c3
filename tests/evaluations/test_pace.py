"""Evaluations side by side keep their models busy; `make bench` holds the tighter limit."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from app.llm.chat import Completion, OnText, Sampling
from tests.bench import bench_evaluations as bench
from tests.evaluations.factories import RIGHT
from tests.fakes.models import ScriptedModel, ScriptedModels
from tests.fakes.openai_server import BASE

LOOSE_LIMIT = 2.0
"""Of the ideal time, on a machine that does other things meanwhile."""


class SlowModel(ScriptedModel):
    """Takes as long as the benchmark's server."""

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        sampling: Sampling,
        on_text: OnText | None = None,
    ) -> Completion:
        await asyncio.sleep(bench.LATENCY_SECONDS)
        return await super().complete(messages, sampling=sampling, on_text=on_text)


async def test_sixteen_evaluations_at_once(sqlite_url: str) -> None:
    models = ScriptedModels(**{BASE: SlowModel(RIGHT)})
    found = await bench.measure(sqlite_url, models, mazes=2)

    assert found.ratio < LOOSE_LIMIT
