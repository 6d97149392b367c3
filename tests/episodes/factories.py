"""Episodes made by the service, and the answers that solve a maze."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from app.db import Database
from app.episodes import service
from app.episodes.engine import Answer, Lane, Task
from app.episodes.packed import pack
from app.episodes.seats import ModelSource
from app.episodes.service import EpisodeSpec, LaneSpec
from app.episodes.turns import TurnRequest, take_turns
from app.logs.parsers.conversation import Conversation
from app.logs.parsers.eval_dump import DumpedEpisode, EvalDump
from app.maze.generate import generate, size_of
from app.maze.parse import KEYWORDS, Dialect, spell
from app.maze.solve import shortest_path
from app.models import Episode, Run, TrainingEvaluation, TrainingRollouts
from app.projects import service as projects
from tests.factories import ADA
from worker.reconcilers.dumps import Evaluation

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


async def add_rollouts(
    session: AsyncSession,
    run: Run,
    *conversations: Sequence[str],
    step: int = 7,
    attempt: int = 1,
    counted: Sequence[bool] | None = None,
) -> TrainingEvaluation:
    """An evaluation of a run with an episode for each list of answers, on the mazes from seed 0.

    `counted` says which ones the run calls solved; by default as they are.
    """
    dumped = [
        _dumped(seed, answers, None if counted is None else counted[seed])
        for seed, answers in enumerate(conversations)
    ]
    found = Evaluation(step, "/gone.jsonl", EvalDump(dumped, 0), None, pack(dumped))
    row = found.row(run.id, attempt, now=run.created_at)
    session.add(row)
    await session.flush()
    session.add(TrainingRollouts(evaluation_id=row.id, payload=found.rollouts))
    await session.flush()
    return row


def _dumped(seed: int, answers: Sequence[str], counted: bool | None) -> DumpedEpisode:
    lane = Lane.restore(
        replace(EASY, seed=seed), [Answer(text=text) for text in answers], has_pictures=False
    )
    is_solved = lane.is_solved if counted is None else counted
    feedbacks = tuple(turn.feedback for turn in lane.turns[: len(answers) - 1])
    return DumpedEpisode(
        seed=seed,
        score_sum=float(is_solved),
        is_solved=is_solved,
        is_passed=is_solved,
        turns=len(answers),
        max_turns=EASY.max_turns,
        env_id=EASY.env_id,
        stop_reason="stop",
        said=Conversation(tuple(answers), feedbacks, has_keywords=True),
    )
