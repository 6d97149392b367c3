"""Evaluations: made, read, stopped and resumed. A worker plays them, by `progress.py`."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.clock import utcnow
from app.episodes.seats import ModelSource, require_sizes
from app.errors import Invalid, NotFound, Problem
from app.evaluations import progress, repository
from app.evaluations.results import Counts, PlayedItem
from app.ids import new_id, new_slug
from app.maze.eval_sets import EvalSet
from app.models import Evaluation, EvaluationItem, EvaluationStatus, Project
from app.names import MAX_NAME, checked_name
from app.paging import Page, decode_id_cursor, page_of
from app.secrets import service as secrets

MAX_MODELS = 8
MAX_SAMPLES = 16
MAX_CONCURRENCY = 32
MAX_EPISODES = 4_096
MAX_TEMPERATURE = 2.0
DEFAULT_CONCURRENCY = 8
_PAIR = 2


@dataclass(frozen=True, slots=True)
class ModelRef:
    """A model of an endpoint, by the endpoint's id and the model's name there."""

    endpoint: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An evaluation that is asked for."""

    models: Sequence[ModelRef]
    eval_set: EvalSet
    name: str | None = None
    temperature: float = 0.0
    samples: int = 1
    concurrency: int = DEFAULT_CONCURRENCY


async def create(
    session: AsyncSession,
    project: Project,
    request: Request,
    *,
    models: ModelSource,
    actor: Actor,
) -> Evaluation:
    """Queues an evaluation with all its episodes.

    Raises `Invalid` with every problem, `NotFound` for an endpoint that is not there.
    """
    problems = list(_problems(request))
    if problems:
        raise Invalid("this evaluation cannot be made", problems)
    seats = [await models.seat(session, each.endpoint, each.model) for each in request.models]
    require_sizes(seats, request.eval_set.env_id, "models")
    name = checked_name(request.name or _default_name(request))
    texts = {"name": name, "models": [each.model for each in request.models]}
    await secrets.refuse_values(session, [project.id], texts)
    chosen = request.eval_set
    made = Evaluation(
        id=new_id(),
        slug=new_slug("evl"),
        project_id=project.id,
        name=name,
        models=[asdict(seat) for seat in seats],
        eval_set=chosen.name,
        env_id=chosen.env_id,
        seeds=list(chosen.seeds),
        max_turns=chosen.max_turns,
        dialect=chosen.dialect,
        solvable_count=chosen.solvable_count,
        temperature=request.temperature,
        samples=request.samples,
        concurrency=request.concurrency,
        status=EvaluationStatus.QUEUED,
        owner=actor.name,
        created_at=utcnow(),
    )
    session.add(made)
    await session.flush()
    session.add_all(_items(made))
    await session.flush()
    await progress.hand_out(session, made, now=utcnow())
    _record(session, actor, Action.EVALUATION_CREATE, made)
    await session.flush()
    return made


async def get(session: AsyncSession, slug: str) -> Evaluation:
    """With its project. Raises `NotFound`."""
    found = await repository.find_by_slug(session, slug)
    if found is None:
        raise NotFound(f"there is no evaluation {slug}")
    return found


async def list_page(
    session: AsyncSession,
    *,
    projects: frozenset[UUID] | None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[Evaluation]:
    """Those in `projects` (None: in all), newest first."""
    rows = await repository.list_before(
        session,
        projects=projects,
        before=decode_id_cursor(cursor) if cursor else None,
        limit=limit + 1,
    )
    return page_of(rows, limit, lambda row: [str(row.id)])


async def count_all(
    session: AsyncSession, found: Sequence[Evaluation]
) -> dict[UUID, dict[int, Counts]]:
    """By evaluation and model number, in one query."""
    counts: defaultdict[UUID, dict[int, Counts]] = defaultdict(dict)
    rows = await repository.count_outcomes(session, [each.id for each in found])
    for evaluation_id, number, outcome, count, solved in rows:
        of_model = counts[evaluation_id].setdefault(number, Counts())
        of_model.add(outcome, count, solved)
    return counts


async def list_played(session: AsyncSession, evaluation: Evaluation) -> list[PlayedItem]:
    """All episodes that have ended, in order, in one query."""
    rows = await repository.played_items(session, evaluation.id)
    return [_played(item, episode) for item, episode in rows]


async def stop(session: AsyncSession, evaluation: Evaluation, *, actor: Actor) -> bool:
    """Asks for the end. False, and nothing changes, if it has ended or was asked before."""
    locked = await repository.lock(session, evaluation.id)
    is_new = await progress.stop(session, locked, now=utcnow())
    if is_new:
        _record(session, actor, Action.EVALUATION_STOP, evaluation)
        await session.flush()
    return is_new


async def resume(session: AsyncSession, evaluation: Evaluation, *, actor: Actor) -> int:
    """Plays what is missing or got no answer; returns how many episodes. Raises `Conflict`."""
    locked = await repository.lock(session, evaluation.id)
    missing = await progress.resume(session, locked, now=utcnow())
    _record(session, actor, Action.EVALUATION_RESUME, evaluation)
    await session.flush()
    return missing


def episode_count(evaluation: Evaluation) -> int:
    """How many episodes it has, played or not."""
    return len(evaluation.models) * len(evaluation.seeds) * evaluation.samples


def title(evaluation: Evaluation, number: int) -> str:
    """What a model of it is called: with its endpoint only where two would be called the same."""
    found = evaluation.models[number]
    names = [each["model"] for each in evaluation.models]
    if names.count(found["model"]) == 1:
        return str(found["model"])
    return f"{found['model']} at {found['endpoint_name']}"


def comparable(evaluation: Evaluation) -> bool:
    """Whether its models can be compared maze by maze."""
    return len(evaluation.models) >= _PAIR and evaluation.samples == 1


def _played(item: EvaluationItem, episode: str | None) -> PlayedItem:
    assert item.outcome is not None
    return PlayedItem(
        model_number=item.model_number,
        seed=item.seed,
        sample=item.sample,
        outcome=item.outcome,
        is_solved=bool(item.is_solved),
        is_passed=bool(item.is_passed),
        turns=item.turns or 0,
        reward=item.reward or 0.0,
        episode=episode,
        message=item.message,
    )


def _items(evaluation: Evaluation) -> list[EvaluationItem]:
    """Maze by maze, so that early results can be compared already."""
    lanes = {name: n for n, name in enumerate(dict.fromkeys(_endpoints(evaluation)))}
    plan = [
        (number, seed, sample)
        for sample in range(evaluation.samples)
        for seed in evaluation.seeds
        for number in range(len(evaluation.models))
    ]
    return [
        EvaluationItem(
            id=new_id(),
            evaluation_id=evaluation.id,
            number=place,
            model_number=number,
            lane=lanes[evaluation.models[number]["endpoint"]],
            seed=seed,
            sample=sample,
        )
        for place, (number, seed, sample) in enumerate(plan)
    ]


def _endpoints(evaluation: Evaluation) -> list[str]:
    return [each["endpoint"] for each in evaluation.models]


def _problems(request: Request) -> list[Problem]:
    found: list[Problem] = []
    models, samples = request.models, request.samples

    def say(field: str, rule: str, message: str) -> None:
        found.append(Problem(field, rule, message))

    if not 1 <= len(models) <= MAX_MODELS:
        say("models", "count", f"an evaluation has 1 to {MAX_MODELS} models")
    elif len(set(models)) < len(models):
        say("models", "twice", "a model is named twice")
    if not 0 <= request.temperature <= MAX_TEMPERATURE:
        say("temperature", "range", f"a temperature is a number from 0 to {MAX_TEMPERATURE:g}")
    if not 1 <= samples <= MAX_SAMPLES:
        say("samples", "range", f"a maze is played 1 to {MAX_SAMPLES} times")
    elif samples > 1 and request.temperature == 0:
        say("samples", "same", "at temperature 0 each play of a maze is the same: play it once")
    if not 1 <= request.concurrency <= MAX_CONCURRENCY:
        say("concurrency", "range", f"1 to {MAX_CONCURRENCY} episodes are under way at a time")
    count = len(models) * len(request.eval_set.seeds) * samples
    if not found and count > MAX_EPISODES:
        say("models", "too_many", f"these are {count} episodes; {MAX_EPISODES} are the limit")
    return found


def _default_name(request: Request) -> str:
    models = " and ".join(each.model for each in request.models)
    return f"{models} on {request.eval_set.name}"[:MAX_NAME]


def _record(session: AsyncSession, actor: Actor, action: Action, evaluation: Evaluation) -> None:
    target = Target("evaluation", evaluation.slug, evaluation.project_id)
    details = {"episodes": episode_count(evaluation), "eval_set": evaluation.eval_set}
    audit.record(session, actor, action, target, details=details)
