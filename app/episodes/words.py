"""What became of a lane and of a turn, in words."""

from app.episodes.engine import TurnRecord
from app.episodes.states import Effect, LaneStatus, Outcome
from app.maze.generate import SIZES, size_of

OUTCOMES = {
    Outcome.SOLVED: "Solved",
    Outcome.WRONG_STOP: "Stopped away from the target",
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
    Effect.BUMPED: "into a wall",
    Effect.STOPPED: "ended the episode",
    Effect.REFUSED: "no such action",
    Effect.UNPARSED: "not readable",
}


def lane_words(status: LaneStatus, outcome: Outcome | None, turns: int, *, is_person: bool) -> str:
    """`Solved in 13 turns`, `Your turn`, `No answer to turn 4`."""
    if outcome is Outcome.SOLVED:
        return f"Solved in {turns} turn" + "s" * (turns != 1)
    if outcome is not None:
        return OUTCOMES[outcome]
    if status is LaneStatus.FAILED:
        return f"No answer to turn {turns + 1}"
    return "Your turn" if is_person else f"Ready for turn {turns + 1}"


def lane_icon(status: LaneStatus, outcome: Outcome | None, turns: int) -> str:
    """The icon and hue of a run's status that means the like."""
    if outcome is Outcome.SOLVED:
        return "succeeded"
    if outcome is Outcome.STOPPED:
        return "stopped"
    if outcome is not None or status is LaneStatus.FAILED:
        return "failed"
    return "running" if turns else "queued"


def turn_words(turn: TurnRecord, word: str, moves_left: int) -> str:
    """`Turn 4: right, into a wall. 7 moves to the target.`"""
    left = "On the target"
    if moves_left:
        left = f"{moves_left} move{'s' * (moves_left != 1)} to the target"
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
