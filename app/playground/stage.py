"""Builds what changes while an episode is played or looked through. Pure.

A turn of the stage is shown by each lane; one that has fewer turns shows its last.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.episodes.engine import Lane, TurnRecord
from app.episodes.loaded import LoadedEpisode, LoadedLane
from app.episodes.states import LaneStatus, Source
from app.episodes.words import EFFECTS, lane_icon, lane_words, turn_words
from app.playground.contexts import LaneView, ShownTurn, Stage, TurnCell
from app.playground.plain_text import plain_text
from app.playground.trail import Place, keyword_of, maze_of, moves_left, places, strokes, ways_out
from app.web.svg import maze_picture

_WORDS_OF_WAY = 12
"""So many of the newest turns are told to screen readers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewing:
    """Who looks, and where. `url` is the page's address; pictures lie below it.

    `has_places`: whether endpoints are named; `has_messages`: whether what was sent is linked.
    """

    url: str
    turn: int | None
    """None: the newest."""
    can_play: bool
    has_messages: bool = True
    has_places: bool = True
    is_streamed: bool = False
    """Whether the page follows answers that are under way."""
    notice: str = ""


def stage(episode: LoadedEpisode, viewing: Viewing) -> Stage:
    """Draws whole ways: tens of milliseconds for long episodes on large mazes."""
    task, players = episode.task, episode.lanes
    last = max(len(player.lane.turns) for player in players)
    turn = last if viewing.turn is None else max(0, min(viewing.turn, last))
    lanes = [_lane(player, turn, viewing) for player in players]
    movable = [lane for lane in lanes if lane.can_move]
    people = [lane.number for lane in movable if lane.is_person]
    waiting = [
        len(each.lane.turns)
        for each in players
        if each.lane.status is LaneStatus.ASKING and not each.seat.is_person
    ]
    news = [_news(lane, player, turn) for lane, player in zip(lanes, players, strict=True)]
    return Stage(
        url=viewing.url,
        stream_url=f"{viewing.url}/stream" if viewing.is_streamed else "",
        board=maze_picture(task.env_id, task.seed),
        lanes=lanes,
        turn=turn,
        last_turn=last,
        max_turns=task.max_turns,
        news=" ".join(filter(None, news)),
        can_play=viewing.can_play,
        next_turn=min(waiting) + 1 if waiting and viewing.can_play else None,
        mover=people[0] if people else None,
        movable=[(lane.number, lane.title) for lane in movable],
        notice=viewing.notice,
    )


def _lane(player: LoadedLane, turn: int, viewing: Viewing) -> LaneView:
    lane, task = player.lane, player.lane.task
    way = places(task.env_id, task.seed, lane.turns)
    at = min(turn, len(lane.turns))
    here, is_at_end = way[at], at == len(lane.turns)
    cells = [_cell(player, record, viewing, is_shown=record.number == at) for record in lane.turns]
    failure = lane.failure if is_at_end else None
    return LaneView(
        number=player.number,
        hue=(player.number - 1) % 10,
        title=player.seat.title,
        place=player.seat.endpoint_name if viewing.has_places else "",
        is_person=player.seat.is_person,
        status=lane.status,
        icon=lane_icon(lane.status, lane.outcome, len(lane.turns)),
        words=lane_words(
            lane.status, lane.outcome, len(lane.turns), is_person=player.seat.is_person
        ),
        is_answering=player.is_answering,
        outcome=(lane.outcome or "") if is_at_end else "",
        at=at,
        x=here.x,
        y=here.y,
        start_x=way[0].x,
        start_y=way[0].y,
        cells=" ".join(f"{place.x:g},{place.y:g}" for place in way),
        strokes=strokes(way),
        way=_way_on(task.env_id, task.seed, here),
        moves_left=here.moves_left,
        moves_from_start=way[0].moves_left,
        description=_description(lane, way[: at + 1]),
        turns=cells,
        shown=_shown(player, lane.turns[at - 1], cells[at - 1], viewing) if at else None,
        failure=plain_text(failure.message) if failure else None,
        is_failure_passing=failure is not None and failure.is_retryable,
        can_retry=viewing.can_play and lane.status is LaneStatus.FAILED,
        can_move=viewing.can_play and not lane.is_over,
    )


def _cell(player: LoadedLane, turn: TurnRecord, viewing: Viewing, *, is_shown: bool) -> TurnCell:
    word = keyword_of(turn.action)
    return TurnCell(
        number=turn.number,
        url=f"{viewing.url}?turn={turn.number}",
        picture_url=picture_url(viewing.url, player.number, turn.number),
        icon=word or "none",
        word=word or ("refused" if turn.action is not None else "no action"),
        effect=turn.effect,
        effect_words=EFFECTS[turn.effect],
        reward=turn.reward,
        latency_seconds=turn.answer.latency_seconds,
        tokens=turn.answer.completion_tokens,
        is_persons=turn.answer.source is Source.PERSON,
        is_shown=is_shown,
    )


def picture_url(url: str, lane: int, turn: int) -> str:
    """The picture that turn `turn` of a lane was asked with."""
    return f"{url}/pictures/{lane}/{turn}.png"


def _shown(player: LoadedLane, turn: TurnRecord, cell: TurnCell, viewing: Viewing) -> ShownTurn:
    query = f"lane={player.number}&turn={turn.number}"
    return ShownTurn(
        cell=cell,
        answer=plain_text(turn.answer.text),
        feedback=plain_text(turn.feedback),
        finish_reason=turn.answer.finish_reason or "",
        prompt_tokens=turn.answer.prompt_tokens,
        first_token_seconds=turn.answer.first_token_seconds,
        messages_url=f"{viewing.url}/messages?{query}" if viewing.has_messages else "",
    )


def _way_on(env_id: str, seed: int, here: Place) -> str:
    """The shortest way from here to the target: always to the cell that is one nearer."""
    left = moves_left(env_id, seed)
    cell, line = here.cell, f"M{here.x:g} {here.y:g}"
    while left[cell]:
        row, column = cell
        around = ((row, column + 1), (row - 1, column), (row, column - 1), (row + 1, column))
        nearer = next(each for each in around if left.get(each) == left[cell] - 1)
        line += f"l{nearer[1] - column} {nearer[0] - row}"
        cell = nearer
    return line


def _description(lane: Lane, way: Sequence[Place]) -> str:
    """The maze in words, as far as it matters for the next move."""
    maze, here = maze_of(lane.task.env_id, lane.task.seed), way[-1]
    (row, column), (target_row, target_column) = here.cell, maze.target
    return (
        f"{maze.height} by {maze.width} cells. The agent is in row {row}, column {column}; "
        f"the target in row {target_row}, column {target_column}. "
        f"Moves left on the shortest way: {here.moves_left}. "
        f"Open: {', '.join(ways_out(maze, here.cell))}. {_way_so_far(lane, len(way) - 1)}"
    )


def _way_so_far(lane: Lane, count: int) -> str:
    if not count:
        return "Nothing was done yet."
    turns = lane.turns[max(0, count - _WORDS_OF_WAY) : count]
    words = [f"{keyword_of(turn.action) or 'no action'} ({EFFECTS[turn.effect]})" for turn in turns]
    return f"Turns {turns[0].number} to {turns[-1].number}: {', '.join(words)}."


def _news(lane: LaneView, player: LoadedLane, turn: int) -> str:
    """What the lane did at this turn, and where it can go from there."""
    record = player.lane.turns[turn - 1] if 0 < turn <= len(player.lane.turns) else None
    said = f"{lane.title}:" if record or lane.failure else ""
    if record is not None:
        said += f" {turn_words(record, keyword_of(record.action), lane.moves_left)}"
    if lane.outcome:
        said += f" {lane.words}." if record else ""
    elif lane.failure:
        said += f" {lane.words}."
    elif record is not None and lane.can_move:
        maze = maze_of(player.lane.task.env_id, player.lane.task.seed)
        said += f" Open: {', '.join(ways_out(maze, record.cell))}."
    return said
