"""Episodes as they stand after some turns, without any model being asked."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.episodes import service
from app.episodes.engine import Answer, Lane, Task
from app.episodes.seats import Seat
from app.episodes.service import EpisodeSpec, LaneSpec
from app.episodes.states import EpisodeOrigin
from app.llm.chat import ModelError, ModelErrorKind, Sampling
from app.maze.parse import Dialect
from app.models import Episode
from tests.factories import ADA
from tests.fakes.models import ScriptedModels

TASK = Task(env_id="maze_2d/easy", seed=3, max_turns=15, dialect=Dialect.KEYWORD)
FAILURE = ModelError(
    ModelErrorKind.SERVER_ERROR, "The server answered with status 500: <h1>Internal</h1>"
)
BASE = Seat(endpoint="fake", endpoint_name="On this machine", model="maze-base")


def said(*words: str) -> list[str]:
    """Answers in the keyword dialect."""
    return [f"I go on. <action>{word}</action>" for word in words]


def lane_after(answers: Sequence[str], *, error: ModelError | None = None) -> Lane:
    """A lane after these answers, and an endpoint's failure."""
    lane = Lane(TASK, has_pictures=False)
    for text in answers:
        answer = Answer(text=text, prompt_tokens=300, completion_tokens=8, latency_seconds=0.25)
        lane.take_answer(answer)
    if error is not None:
        lane.fail(error)
    return lane


async def add_episode(
    session: AsyncSession,
    project_id: UUID,
    answers: Sequence[str] = (),
    *,
    seat: Seat = BASE,
    error: ModelError | None = None,
) -> Episode:
    """One lane of a model that gave these answers."""
    id_ = await service.add_played(
        session,
        lane_after(answers, error=error),
        seat,
        project_id=project_id,
        sampling=Sampling(),
        owner=ADA.name,
    )
    made = await session.get_one(Episode, id_)
    made.origin = EpisodeOrigin.PLAYGROUND
    await session.flush()
    return made


async def add_own(session: AsyncSession, project_id: UUID) -> Episode:
    """One lane in which a person plays."""
    spec = EpisodeSpec(lanes=[LaneSpec()], env_id=TASK.env_id, seed=TASK.seed, max_turns=15)
    return await service.create(
        session, spec, project_id=project_id, models=ScriptedModels(), actor=ADA
    )
