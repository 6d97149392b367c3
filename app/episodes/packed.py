"""Rollouts of one training evaluation as bytes: what was said, of bounded size. Pure."""

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from app.logs.parsers.eval_dump import DumpedEpisode
from app.maze.parse import Dialect

MAX_EPISODE_CHARACTERS = 256 * 1024
MAX_CHARACTERS = 16 * 1024 * 1024
"""Of all episodes together; those beyond are left out. Answers compress to a tenth or less."""
# JSON writes a character in up to twelve bytes, and marks around texts.
_MAX_UNPACKED_BYTES = 16 * MAX_CHARACTERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """What is kept of one episode. `answers` is None where it was too long to be kept."""

    env_id: str
    max_turns: int | None
    dialect: Dialect
    stop_reason: str
    answers: tuple[str, ...] | None
    feedbacks: tuple[str, ...] = ()


def kept(episodes: Sequence[DumpedEpisode]) -> list[bool]:
    """By episode: whether its answers are kept, and the maze that they were given in is known."""
    return [
        fits and each.seed is not None for fits, each in zip(_fits(episodes), episodes, strict=True)
    ]


def pack(episodes: Sequence[DumpedEpisode]) -> bytes:
    """The episodes in their order, as compressed JSON."""
    rows = [
        [
            each.env_id,
            each.max_turns,
            each.said.has_keywords,
            each.stop_reason[:64],
            each.said.answers if fits else None,
            each.said.feedbacks if fits else [],
        ]
        for fits, each in zip(_fits(episodes), episodes, strict=True)
    ]
    return zlib.compress(json.dumps(rows).encode())


def unpack(payload: bytes, index: int) -> Rollout | None:
    """The episode at `index`, from 0; None if there are fewer."""
    unpacked = zlib.decompressobj().decompress(payload, _MAX_UNPACKED_BYTES)
    rows = json.loads(unpacked)
    if not 0 <= index < len(rows):
        return None
    env_id, max_turns, has_keywords, stop_reason, answers, feedbacks = rows[index]
    return Rollout(
        env_id=env_id,
        max_turns=max_turns,
        dialect=Dialect.KEYWORD if has_keywords else Dialect.TUPLE,
        stop_reason=stop_reason,
        answers=None if answers is None else tuple(answers),
        feedbacks=tuple(feedbacks),
    )


def _fits(episodes: Sequence[DumpedEpisode]) -> list[bool]:
    found, left = [], MAX_CHARACTERS
    for episode in episodes:
        fits = episode.said.length <= min(left, MAX_EPISODE_CHARACTERS)
        left -= episode.said.length if fits else 0
        found.append(fits)
    return found
