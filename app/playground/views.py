"""Builds the pages of the playground from rows and drafts."""

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlencode

from app.endpoints.offered import ModelGroup
from app.episodes.engine import TurnRecord
from app.episodes.loaded import LoadedEpisode
from app.episodes.rollouts import FoundRollout
from app.episodes.states import EpisodeOrigin
from app.episodes.words import environment_words, lane_icon, lane_words
from app.models import Episode, EpisodeLane, Run
from app.playground import form
from app.playground.contexts import (
    BranchLink,
    EpisodeLine,
    EpisodePage,
    LaneChoice,
    LaneLine,
    MessagesPage,
    MessageView,
    PlaygroundPage,
    RolloutPage,
    SetGroup,
)
from app.playground.form import Draft
from app.playground.links import play_url
from app.playground.plain_text import plain_text
from app.playground.stage import Viewing, picture_url, stage
from app.playground.trail import moves_left
from app.runs.views import rollout_url
from app.web.deps import Viewer
from app.web.forms import FormField, group_problems
from app.web.paging import Pager
from app.web.svg import maze_picture

HOME = "/playground"
_MESSAGE_CHARACTERS = 20_000
_DIALECTS = {"keyword": "Keyword, as instruct", "tuple": "Tuple, as SFT"}


def episode_page(
    episode: Episode,
    loaded: LoadedEpisode,
    branches: Sequence[Episode],
    *,
    turn: int | None,
    can_write: bool,
    notice: str = "",
) -> EpisodePage:
    """`can_write`: whether the viewer may go on with it, branch and share it."""
    url = f"{HOME}/{episode.slug}"
    is_streamed = episode.origin is EpisodeOrigin.PLAYGROUND
    can_play = can_write and is_streamed
    viewing = Viewing(url=url, turn=turn, can_play=can_play, is_streamed=is_streamed, notice=notice)
    parent = episode.parent
    return EpisodePage(
        slug=episode.slug,
        title=title_of(episode),
        env_words=environment_words(episode.env_id),
        seed=episode.seed,
        needed_turns=needed_turns(loaded),
        dialect=episode.dialect,
        origin=episode.origin,
        owner=episode.owner,
        created_at=episode.created_at,
        stage=stage(loaded, viewing),
        parent=BranchLink(parent.slug, episode.parent_turn or 0) if parent else None,
        branches=[BranchLink(each.slug, each.parent_turn or 0) for each in branches],
        can_write=can_write,
        again_url=f"{HOME}?{urlencode({'from': episode.slug})}#new",
    )


def rollout_page(
    run: Run, found: FoundRollout, *, turn: int | None, models: Sequence[str] | None = None
) -> RolloutPage:
    """Read-only; what was sent is not kept, but can be read off what is shown.

    `models` are those to play its maze with; None: the viewer may play nowhere.
    """
    evaluation, recorded = found.evaluation, found.loaded.recorded
    assert recorded is not None
    task, count = found.loaded.task, len(evaluation.items)

    def url(number: int) -> str:
        return rollout_url(run.slug, evaluation, number) if 1 <= number <= count else ""

    viewing = Viewing(url=url(found.number), turn=turn, can_play=False, has_messages=False)
    words = environment_words(task.env_id)
    return RolloutPage(
        run_slug=run.slug,
        run_name=run.name,
        attempt=evaluation.attempt_number,
        step=evaluation.step,
        number=found.number,
        count=count,
        title=f"{words.split()[0]} maze, seed {task.seed}",
        env_words=words,
        seed=task.seed,
        needed_turns=needed_turns(found.loaded),
        dialect=task.dialect,
        is_solved=recorded.is_solved,
        is_passed=recorded.is_passed,
        reward=recorded.reward,
        problem=recorded.problem,
        previous_url=url(found.number - 1),
        next_url=url(found.number + 1),
        play_url="" if models is None else play_url(task, models=models),
        is_pair=bool(models),
        stage=stage(found.loaded, viewing),
    )


def title_of(episode: Episode) -> str:
    return f"{environment_words(episode.env_id).split()[0]} maze, seed {episode.seed}"


def needed_turns(loaded: LoadedEpisode) -> int:
    """Moves of the shortest way and the stop."""
    task = loaded.task
    return moves_left(task.env_id, task.seed)[loaded.lanes[0].lane.maze.start] + 1


def messages_page(
    episode: Episode,
    row: EpisodeLane,
    turn: TurnRecord,
    messages: Iterable[Mapping[str, object]],
) -> MessagesPage:
    """What one turn was asked with."""
    url, shown, pictures = f"{HOME}/{episode.slug}", [], 0
    for message in messages:
        text, has_picture = _parts(message["content"])
        pictures += has_picture
        picture = picture_url(url, row.number, pictures) if has_picture else ""
        role = str(message["role"])
        shown.append(MessageView(role, plain_text(text, most=_MESSAGE_CHARACTERS), picture))
    return MessagesPage(
        slug=episode.slug,
        title=title_of(episode),
        lane_title=row.model or "You",
        turn=turn.number,
        back_url=f"{url}?turn={turn.number}",
        messages=shown,
        sampling=[(name, str(value)) for name, value in episode.sampling.items()],
    )


def line(episode: Episode, viewer: Viewer) -> EpisodeLine:
    """Needs the episode's lanes."""
    lanes = [
        LaneLine(
            hue=(lane.number - 1) % 10,
            title=lane.model or "You",
            icon=lane_icon(lane.status, lane.outcome, lane.turn_count),
            words=lane_words(
                lane.status, lane.outcome, lane.turn_count, is_person=lane.endpoint is None
            ),
        )
        for lane in episode.lanes
    ]
    return EpisodeLine(
        slug=episode.slug,
        title=title_of(episode),
        board=maze_picture(episode.env_id, episode.seed),
        lanes=lanes,
        owner=episode.owner,
        project=viewer.project_badge(episode.project_id),
        created_at=episode.created_at,
    )


def playground_page(
    draft: Draft,
    *,
    groups: list[ModelGroup],
    sets: list[SetGroup],
    projects: Sequence[tuple[str, str]],
    lines: list[EpisodeLine],
    pager: Pager,
    can_write: bool,
    missing: Sequence[str] = (),
    problems: Mapping[str, str] | None = None,
) -> PlaygroundPage:
    """`projects` are (slug, name) of those that an episode may go into; `missing`: see context."""
    wrong = problems or {}
    is_lane_chosen = any(name in draft.values for name in form.LANES)
    first = groups[0].options[0].value if groups and groups[0].options else form.PERSON
    lanes = [
        LaneChoice(
            name,
            f"Lane {number}",
            draft.values.get(name, first if number == 1 and not is_lane_chosen else form.NOBODY),
            wrong.get(name, ""),
        )
        for number, name in enumerate(form.LANES, start=1)
    ]
    fields = {each.name: each for each in _fields(draft, wrong, projects)}
    named = [FormField(lane.name, lane.label, "choice", lane.value) for lane in lanes]
    return PlaygroundPage(
        lanes=lanes,
        groups=groups,
        missing=list(missing),
        sets=sets,
        fields=fields,
        sampling=[fields[each.name] for each in form.SAMPLING],
        problems=group_problems(wrong, [*named, *fields.values()]),
        can_write=can_write,
        lines=lines,
        pager=pager,
        is_sampling_open=any(each.name in wrong for each in form.SAMPLING),
    )


def _fields(
    draft: Draft, wrong: Mapping[str, str], projects: Sequence[tuple[str, str]]
) -> list[FormField]:
    def number(name: str, label: str, *, about: str = "") -> FormField:
        return FormField(
            name, label, "number", draft.text(name), help=about, problem=wrong.get(name, "")
        )

    def choice(name: str, label: str, choices: Mapping[str, str]) -> FormField:
        text, problem = draft.text(name), wrong.get(name, "")
        return FormField(
            name, label, "choice", text, choices=list(choices), labels=choices, problem=problem
        )

    return [
        choice(form.ENV, "Environment", form.ENVIRONMENTS),
        number(form.HEIGHT, "Height", about="Odd, 5 to 99."),
        number(form.WIDTH, "Width", about="Odd, 5 to 99."),
        number(form.SEED, "Seed", about="Empty: any."),
        choice(form.EVAL_SET, "From an eval set", {}),
        number(form.ITEM, "Item", about="From 1 on. Brings its maze, turn limit and dialect."),
        number(form.TURNS, "Turn limit"),
        choice(form.DIALECT, "Dialect", _DIALECTS),
        choice(form.PROJECT, "Project", dict(projects)),
        *(number(each.name, each.label, about=each.help) for each in form.SAMPLING),
    ]


def _parts(content: object) -> tuple[str, bool]:
    """A message's text, and whether it has a picture."""
    if isinstance(content, str):
        return content, False
    parts = content if isinstance(content, list) else []
    texts = [str(part["text"]) for part in parts if part.get("type") == "text"]
    return "\n".join(texts), any(part.get("type") == "image_url" for part in parts)
