"""What models were asked, word for word, rebuilt from answers; in a thread, since it draws."""

import asyncio
from collections.abc import Sequence
from typing import Any

from app.episodes.engine import Lane, TurnRecord
from app.episodes.loaded import lane_of, task_of
from app.errors import Invalid, NotFound, Problem
from app.models import Episode, EpisodeLane

MAX_CHARACTERS = 16_000_000
"""Most characters of all pictures in one answer."""
Messages = list[dict[str, Any]]


async def request_of(
    episode: Episode, *, lane: int, turn: int
) -> tuple[EpisodeLane, TurnRecord, Messages]:
    """The messages that turn `turn` of lane `lane` was asked with. Raises `NotFound`."""
    row = next((each for each in episode.lanes if each.number == lane), None)
    if row is None or not 1 <= turn <= row.turn_count:
        raise NotFound(f"episode {episode.slug} has no turn {turn} in lane {lane}")
    played = await asyncio.to_thread(lane_of, task_of(episode), row, has_pictures=True)
    return row, played.turns[turn - 1], played.messages_of(turn)


async def picture_of(episode: Episode, *, lane: int, turn: int) -> bytes:
    """The PNG that turn `turn` was asked with, or that the turn after the last would be.

    Raises `NotFound`.
    """
    row = next((each for each in episode.lanes if each.number == lane), None)
    if row is None or not 1 <= turn <= row.turn_count + 1:
        raise NotFound(f"episode {episode.slug} has no turn {turn} in lane {lane}")
    return await asyncio.to_thread(_picture, episode, row, turn)


async def all_messages(episode: Episode) -> list[list[Messages]]:
    """By lane and turn: what was asked. Raises `Invalid` where that would be too much at once."""
    return await asyncio.to_thread(_all_messages, episode)


def _picture(episode: Episode, row: EpisodeLane, turn: int) -> bytes:
    lane = lane_of(task_of(episode), row)
    return lane.branch(min(turn - 1, len(lane.turns))).picture()


def _all_messages(episode: Episode) -> list[list[Messages]]:
    task = task_of(episode)
    lanes = [lane_of(task, row, has_pictures=True) for row in episode.lanes]
    if sum(map(_size, lanes)) > MAX_CHARACTERS:
        message = "these are too many pictures for one answer: ask for single turns"
        raise Invalid(message, [Problem("messages", "size", message)])
    return [[lane.messages_of(turn.number) for turn in lane.turns] for lane in lanes]


def _size(lane: Lane) -> int:
    """Characters of the pictures; the n-th turn's request holds n of them."""
    turns: Sequence[TurnRecord] = lane.turns
    picture = len(lane.messages[0]["content"][1]["image_url"]["url"])
    return picture * len(turns) * (len(turns) + 1) // 2
