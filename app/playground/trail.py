"""Where an episode's agent was after each turn, and how its way is drawn. Pure.

One unit is one cell; (0, 0) is the top left corner of the maze.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from app.episodes.engine import TurnRecord
from app.episodes.states import Effect
from app.maze.env import DIRECTIONS
from app.maze.generate import Cell, Maze, generate, size_of
from app.maze.literal import read_literal
from app.maze.parse import KEYWORDS

_KEEP_RIGHT = 0.11
"""A way there and back is two lines: each keeps to its right of the middle."""
_BUMP_HALF, _BUMP_AT = 0.26, 0.44
_WORDS = {action: keyword for keyword, action in KEYWORDS.items()}


@dataclass(frozen=True, slots=True)
class Place:
    """The agent after a turn; turn 0 is the start. `moves_left` is the shortest way to the target.

    `effect` is None at the start. `heading` indexes `DIRECTIONS` where the turn was a move, into
    floor or wall, else it is None.
    """

    turn: int
    cell: Cell
    moves_left: int
    effect: Effect | None = None
    heading: int | None = None

    @property
    def x(self) -> float:
        return self.cell[1] + 0.5

    @property
    def y(self) -> float:
        return self.cell[0] + 0.5


@dataclass(frozen=True, slots=True)
class Stroke:
    """The line that a turn adds: a step of the way, or the mark of a bump."""

    turn: int
    is_bump: bool
    line: str
    """An SVG path."""


def keyword_of(action: str | None) -> str:
    """`right`, `up`, `left`, `down` or `stop`; empty for what the maze does not know."""
    name, payload = _literal(action or "")
    if name == "stop":
        return "stop"
    if name != "move" or not isinstance(payload, int):
        return ""
    return _WORDS.get(f"('move', {int(payload)})", "")


def places(env_id: str, seed: int, turns: Iterable[TurnRecord]) -> list[Place]:
    """The start and the place after each turn.

    Raises `ValueError` for an unknown environment or a bad seed.
    """
    left, start = moves_left(env_id, seed), maze_of(env_id, seed).start
    after = [
        Place(turn.number, turn.cell, left[turn.cell], turn.effect, _heading(turn))
        for turn in turns
    ]
    return [Place(0, start, left[start]), *after]


def strokes(way: Sequence[Place]) -> list[Stroke]:
    """The lines of a way, in order of its turns; turns that draw nothing have none."""
    bumps = [
        Stroke(place.turn, True, _bump(place, place.heading))
        for place in way
        if place.effect is Effect.BUMPED and place.heading is not None
    ]
    return sorted([*_steps(way), *bumps], key=lambda stroke: stroke.turn)


@lru_cache(maxsize=512)
def moves_left(env_id: str, seed: int) -> dict[Cell, int]:
    """Moves of the shortest way to the target, for each floor cell. Not to be changed."""
    maze = maze_of(env_id, seed)
    found = {maze.target: 0}
    waiting = deque([maze.target])
    while waiting:
        cell = waiting.popleft()
        for ahead in _around(cell):
            if ahead not in found and not maze.is_wall(ahead):
                found[ahead] = found[cell] + 1
                waiting.append(ahead)
    return found


@lru_cache(maxsize=512)
def maze_of(env_id: str, seed: int) -> Maze:
    """Raises `ValueError` for an unknown environment or a bad seed."""
    height, width = size_of(env_id)
    return generate(seed, height=height, width=width)


def ways_out(maze: Maze, cell: Cell) -> list[str]:
    """The keywords of the moves that no wall stops."""
    words = [_WORDS[f"('move', {index})"] for index in range(len(DIRECTIONS))]
    around = zip(words, _around(cell), strict=True)
    return [word for word, ahead in around if not maze.is_wall(ahead)]


def _around(cell: Cell) -> list[Cell]:
    return [(cell[0] + down, cell[1] + right) for down, right in DIRECTIONS]


def _heading(turn: TurnRecord) -> int | None:
    """The direction of a move, however it was spelt."""
    if turn.effect not in (Effect.MOVED, Effect.BUMPED):
        return None
    _, payload = _literal(turn.action or "")
    return int(payload) if isinstance(payload, int) else None


def _literal(action: str) -> tuple[object, object]:
    try:
        value = read_literal(action)
    except ValueError:
        return None, None
    return value if isinstance(value, tuple) and len(value) == 2 else (None, None)


def _steps(way: Sequence[Place]) -> list[Stroke]:
    """Each move's line goes from the corner with the move before to the corner with the next."""
    moves = [
        (before, place, place.heading)
        for before, place in pairwise(way)
        if place.effect is Effect.MOVED and place.heading is not None
    ]
    headings = [None, *(heading for _, _, heading in moves), None]
    found = []
    for index, (origin, place, heading) in enumerate(moves):
        start = _corner(origin, headings[index], heading)
        if headings[index] is not None and _is_back(headings[index], heading):
            start = [*_corner(origin, headings[index], None), *_corner(origin, None, heading)]
        following = headings[index + 2]
        end = _corner(place, heading, None if _is_back(heading, following) else following)
        line = "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in (*start, *end))
        found.append(Stroke(place.turn, False, line))
    return found


def _corner(at: Place, before: int | None, after: int | None) -> list[tuple[float, float]]:
    """Where the lines of two moves meet that are not there and back; None: there is no such."""
    sides = [_right_of(heading) for heading in {before, after} if heading is not None]
    return [(at.x + sum(right for _, right in sides), at.y + sum(down for down, _ in sides))]


def _is_back(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and abs(before - after) == 2


def _right_of(heading: int) -> tuple[float, float]:
    """(down, right) to the right hand of who goes that way."""
    down, right = DIRECTIONS[heading]
    return right * _KEEP_RIGHT, -down * _KEEP_RIGHT


def _bump(at: Place, heading: int) -> str:
    down, right = DIRECTIONS[heading]
    x, y = at.x + right * _BUMP_AT, at.y + down * _BUMP_AT
    across_x, across_y = abs(down) * _BUMP_HALF, abs(right) * _BUMP_HALF
    return f"M{x - across_x:.2f} {y - across_y:.2f}L{x + across_x:.2f} {y + across_y:.2f}"
