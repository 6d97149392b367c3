"""Episodes made by the service, and the answers that solve a maze."""

from typing import Any

from app.db import Database
from app.episodes import service
from app.episodes.engine import Task
from app.episodes.seats import ModelSource
from app.episodes.service import EpisodeSpec, LaneSpec
from app.episodes.turns import TurnRequest, take_turns
from app.maze.generate import generate, size_of
from app.maze.parse import KEYWORDS, Dialect, spell
from app.maze.solve import shortest_path
from app.models import Episode
from app.projects import service as projects
from tests.factories import ADA

EASY = Task(env_id="maze_2d/easy", seed=0, max_turns=15, dialect=Dialect.KEYWORD)
WORDS = list(KEYWORDS)


def solution(task: Task = EASY) -> list[str]:
    """Answers that go the shortest way and stop."""
    height, width = size_of(task.env_id)
    path = shortest_path(generate(task.seed, height=height, width=width))
    words = [WORDS[direction] for direction in path]
    return [spell(word, task.dialect) for word in [*words, "stop"]]


def wall(task: Task = EASY) -> str:
    """An answer that goes into a wall from the start: seed 0's agent may only go one way."""
    height, width = size_of(task.env_id)
    way = WORDS[shortest_path(generate(task.seed, height=height, width=width))[0]]
    opposite = {"right": "left", "left": "right", "up": "down", "down": "up"}[way]
    return spell(opposite, task.dialect)


async def make_episode(
    database: Database,
    models: ModelSource,
    *names: str | None,
    **given: Any,
) -> Episode:
    """One lane for each name, None for a person."""
    lanes = [LaneSpec("fake", name) if name else LaneSpec() for name in names]
    values: dict[str, Any] = {"env_id": EASY.env_id, "seed": 0, "max_turns": 15} | given
    async with database.write() as session:
        home = await projects.ensure_default(session)
        return await service.create(
            session,
            EpisodeSpec(lanes=lanes, **values),
            project_id=home.id,
            models=models,
            actor=ADA,
        )


async def take(database: Database, models: ModelSource, episode: Episode, **given: Any) -> Episode:
    """Takes a turn and gives the episode as it then stands."""
    await take_turns(database, models, episode.slug, TurnRequest(**given), actor=ADA)
    return await fresh(database, episode)


async def fresh(database: Database, episode: Episode) -> Episode:
    async with database.read() as session:
        return await service.get(session, episode.slug)
