"""What the turn engine and its driver cost: `python -m tests.bench.bench_episodes`.

Prints one JSON line per number and exits with 1 if one misses its limit. CPU time of a turn is what
comes on top of the environment, by a model that answers at once: of the driver alone, and of a
turn that the web takes, with claim and storage on SQLite. Then sixteen lanes at once, driven
against a server of its own process that answers after 100 ms: the ideal time is the answers'.
"""

import asyncio
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from app.db import Database
from app.episodes.driver import play_episode
from app.episodes.engine import Lane
from app.episodes.seats import ModelSource, Seat
from app.episodes.states import Outcome
from app.llm.chat import Sampling
from app.maze.episode import Episode
from app.schema import migrate_now
from tests.bench.bench_evaluations import LATENCY_SECONDS, fake_server
from tests.episodes.factories import EASY, make_episode, take, wall
from tests.fakes.models import ScriptedModel, ScriptedModels
from tests.fakes.openai_server import BASE

EPISODES = 100
STORED_EPISODES = 20
LANES, LANE_EPISODES = 16, 2
TURN_LIMIT_MS = 3.0
LANES_LIMIT = 1.15
TURNS = EASY.max_turns


def main() -> int:
    """Measures everything. The exit code says whether each limit was held."""
    environment = _environment_ms()
    driver = asyncio.run(_driver_ms()) - environment
    stored = asyncio.run(_stored_ms()) - environment
    with fake_server() as models:
        ratio = asyncio.run(_at_once(models))
    held = [
        _report("environment, CPU ms a turn", environment, EPISODES * TURNS),
        _report("driver, CPU ms a turn", driver, EPISODES * TURNS, TURN_LIMIT_MS),
        _report("turn taken by the web, CPU ms", stored, STORED_EPISODES * TURNS),
        _report(
            f"{LANES} lanes at once, of the ideal time",
            ratio,
            LANES * LANE_EPISODES * TURNS,
            LANES_LIMIT,
        ),
    ]
    return int(not all(held))


def _environment_ms() -> float:
    answer = wall()
    started = time.process_time()
    for seed in range(EPISODES):
        episode = Episode(EASY.env_id, seed, max_turns=EASY.max_turns, dialect=EASY.dialect)
        while not episode.done:
            episode.turn(answer)
    return _ms(started, EPISODES)


async def _driver_ms() -> float:
    model = ScriptedModel(wall())
    started = time.process_time()
    for seed in range(EPISODES):
        lane = await play_episode(Lane(replace(EASY, seed=seed)), model, Sampling())
        assert len(lane.turns) == TURNS
    return _ms(started, EPISODES)


async def _stored_ms() -> float:
    models = ScriptedModels(good=ScriptedModel(wall()))
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite+aiosqlite:///{Path(folder) / 'skydeck.db'}"
        await asyncio.to_thread(migrate_now, url)
        database = Database(url)
        try:
            made = [await make_episode(database, models, "good") for _ in range(STORED_EPISODES)]
            started = time.process_time()
            for _ in range(TURNS):
                for episode in made:
                    await take(database, models, episode)
            return _ms(started, STORED_EPISODES)
        finally:
            await database.close()


async def _at_once(models: ModelSource) -> float:
    async def play(number: int) -> None:
        async with models.open(Seat(endpoint="end-1", model=BASE)) as model:
            for index in range(LANE_EPISODES):
                seed = LANE_EPISODES * number + index
                lane = await play_episode(Lane(replace(EASY, seed=seed)), model, Sampling())
                assert lane.outcome is not Outcome.ENDPOINT_ERROR
                assert len(lane.turns) == TURNS

    # The first calls load code and connect.
    await play(LANES)
    started = time.monotonic()
    await asyncio.gather(*(play(number) for number in range(LANES)))
    return (time.monotonic() - started) / (LANE_EPISODES * TURNS * LATENCY_SECONDS)


def _ms(started: float, episodes: int) -> float:
    return 1000 * (time.process_time() - started) / (episodes * TURNS)


def _report(name: str, value: float, n: int, limit: float | None = None) -> bool:
    line = {"name": name, "n": n, "value": round(value, 3), "limit": limit}
    sys.stdout.write(json.dumps(line) + "\n")
    return limit is None or value <= limit


if __name__ == "__main__":
    sys.exit(main())
