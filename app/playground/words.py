"""What became of a lane and of a turn, in words."""

from app.episodes.engine import Lane, LaneStatus, TurnRecord
from app.episodes.outcomes import Effect, Outcome
from app.maze.generate import SIZES, size_of

OUTCOMES = {
    Outcome.SOLVED: "Solved",
    Outcome.WRONG_STOP: "Stopped beside the target",
    Outcome.NO_STOP: "Turns ran out",
    Outcome.LOOPED: "Went in circles until the turns ran out",
    Outcome.WALL_BUMPING: "Ran into walls until the turns ran out",
    Outcome.UNPARSABLE: "Gave no readable action until the turns ran out",
    Outcome.CONTEXT_LIMIT: "Conversation too long",
    Outcome.ENDPOINT_ERROR: "Endpoint gave no answer",
    Outcome.STOPPED: "Ended by a person",
}
EFFECTS = {
    Effect.MOVED: "moved",
    Effect.BUMPED: "wall",
    Effect.STOPPED: "stop",
    Effect.REFUSED: "no such action",
    Effect.UNPARSED: "not readable",
}


def lane_words(lane: Lane, *, is_person: bool) -> str:
    """`Solved in 13 turns`, `Your turn`, `No answer to turn 4`."""
    count = len(lane.turns)
    if lane.outcome is Outcome.SOLVED:
        return f"Solved in {count} turn" + "s" * (count != 1)
    if lane.outcome is not None:
        return OUTCOMES[lane.outcome]
    if lane.status is LaneStatus.FAILED:
        return f"No answer to turn {count + 1}"
    if is_person:
        return "Your turn"
    return f"Ready for turn {count + 1}"


def lane_icon(lane: Lane) -> str:
    """The icon and hue of a status that means the like."""
    if lane.outcome is Outcome.SOLVED:
        return "succeeded"
    if lane.outcome is Outcome.STOPPED:
        return "stopped"
    if lane.outcome is not None or lane.status is LaneStatus.FAILED:
        return "failed"
    return "running" if lane.turns else "queued"


def turn_words(turn: TurnRecord, word: str, moves_left: int) -> str:
    """`Turn 4: right, into a wall. 7 moves left.`"""
    left = f"{moves_left} move{'s' * (moves_left != 1)} left" if moves_left else "On the target"
    match turn.effect:
        case Effect.MOVED:
            did = f"moved {word}"
        case Effect.BUMPED:
            did = f"{word}, into a wall"
        case Effect.STOPPED:
            did = "stopped"
        case Effect.REFUSED:
            did = "an action that the maze does not know"
        case Effect.UNPARSED:
            did = "no readable action"
    return f"Turn {turn.number}: {did}. {left}."


def environment_words(env_id: str) -> str:
    """`Easy`, `Hard` or `Custom`, with its size in cells."""
    height, width = size_of(env_id)
    name = env_id.removeprefix("maze_2d/").capitalize() if env_id in SIZES else "Custom"
    return f"{name} {height} × {width}"
