"""The words for how an episode stands and ends; docs/statuses.md lists them. Needs nothing."""

from datetime import timedelta
from enum import StrEnum

LONGEST_CLAIM = timedelta(minutes=5)
"""A turn's claim that ends later was made before the clock was set back: it holds nobody up."""


class LaneStatus(StrEnum):
    """`asking`: the next answer is awaited. `failed`: the endpoint gave none; may be retried."""

    ASKING = "asking"
    FAILED = "failed"
    OVER = "over"


class Source(StrEnum):
    """Who gave an answer."""

    MODEL = "model"
    PERSON = "person"


class EpisodeOrigin(StrEnum):
    """Where an episode was played."""

    PLAYGROUND = "playground"
    EVALUATION = "evaluation"


class Effect(StrEnum):
    """What one answer did to the maze."""

    MOVED = "moved"
    BUMPED = "bumped"
    """Into a wall; nothing moved."""
    STOPPED = "stopped"
    REFUSED = "refused"
    """An action was found, and the maze has no such action."""
    UNPARSED = "unparsed"
    """No action was found."""


class Outcome(StrEnum):
    """How an episode ended. Only `solved` is a success."""

    SOLVED = "solved"
    WRONG_STOP = "wrong_stop"
    """Stopped, and not on the target."""
    NO_STOP = "no_stop"
    """The turns ran out, on the way or on the target."""
    LOOPED = "looped"
    """The turns ran out, and the same move from the same cell was made again."""
    WALL_BUMPING = "wall_bumping"
    """The turns ran out, and half of the answers or more went into a wall."""
    UNPARSABLE = "unparsable"
    """The turns ran out, and half of the answers or more held no action that there is."""
    CONTEXT_LIMIT = "context_limit"
    """The conversation became longer than the model or the training's settings take."""
    ENDPOINT_ERROR = "endpoint_error"
    """The endpoint gave no answer, and nobody tries again."""
    STOPPED = "stopped"
    """A person ended it."""
