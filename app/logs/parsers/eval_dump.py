"""Reads the dump of an evaluation: `dumped_evals/global_step_N_evals/<data_source>.jsonl`.

One JSON row an episode (SkyRL `dump_per_dataset_eval_results`): `score` is one reward per response
token, or one number; `output_response` holds all turns with the template's marks.
"""

import json
import math
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from app.logs.parsers.conversation import ASSISTANT_TURN, Conversation, conversation
from app.logs.parsers.records import storable

# `env_sft` pays 0.8 for the task and up to 0.2 for format; keyword rewards are 1.0 or 0.0.
SOLVED_SCORE = 0.8
# A real row has about 36 kB. A larger one than this is damage, not an episode.
MAX_ROW_BYTES = 32 * 1024 * 1024
# The largest eval set in use has 2,000 episodes.
MAX_EPISODES = 20_000
MAX_ENV_ID_CHARS = 64
# What the columns hold.
_LARGEST_SEED = 2**63
_MOST_TURNS = 2**31

_FOLDER = re.compile(r"global_step_(\d{1,18})_evals")


@dataclass(frozen=True, slots=True)
class DumpedEpisode:
    """One episode of an evaluation.

    `is_solved`: the goal was reached (summed score at least 0.8). `is_passed`: SkyRL's own notion,
    behind pass_at_1: the last token's reward is above zero, which format credit alone can do.
    A `score_sum` of None is no finite number, so the episode counts as neither. `said` is what was
    said in it, to rebuild it from.
    """

    seed: int | None
    score_sum: float | None
    is_solved: bool
    is_passed: bool
    turns: int
    max_turns: int | None
    env_id: str
    stop_reason: str
    said: Conversation


@dataclass(frozen=True, slots=True)
class EvalDump:
    """All episodes in the file's order, and how many lines could not be read."""

    episodes: list[DumpedEpisode]
    damaged_count: int

    @property
    def solved_count(self) -> int:
        return sum(episode.is_solved for episode in self.episodes)

    @property
    def passed_count(self) -> int:
        return sum(episode.is_passed for episode in self.episodes)


def parse_eval_dump(data: bytes) -> EvalDump:
    """Parse a whole `<data_source>.jsonl`; damaged lines are counted, never raised.

    So are those beyond `MAX_EPISODES`.
    """
    lines = [line for line in data.split(b"\n") if line.strip()]
    parsed = [_episode(line) for line in lines[:MAX_EPISODES]]
    episodes = [episode for episode in parsed if episode is not None]
    return EvalDump(episodes=episodes, damaged_count=len(lines) - len(episodes))


def dump_step(path: str) -> int | None:
    """The step of a dump's folder, or of a file in it, by the folder's own name only.

    A run's path may hold `global_step_N` further up, which says nothing about the dump.
    """
    parts = PurePosixPath(path).parts[-2:]
    matches = [match for part in parts if (match := _FOLDER.fullmatch(part))]
    return int(matches[-1][1]) if matches else None


def _episode(line: bytes) -> DumpedEpisode | None:
    if len(line) > MAX_ROW_BYTES:
        return None
    try:
        row = json.loads(line)
        response = str(row.get("output_response") or "")
        rewards = _rewards(row["score"])
        extras = row.get("env_extras") or {}
        score_sum = sum(rewards)
        is_finite = math.isfinite(score_sum)
        return DumpedEpisode(
            seed=_optional_int(extras.get("seed"), below=_LARGEST_SEED),
            score_sum=score_sum if is_finite else None,
            is_solved=is_finite and score_sum >= SOLVED_SCORE,
            is_passed=is_finite and bool(rewards) and rewards[-1] > 0,
            turns=_turns(response),
            max_turns=_optional_int(extras.get("max_turns"), below=_MOST_TURNS),
            env_id=_env_id(str(extras.get("visgym_env_id") or row.get("env_class") or "")),
            stop_reason=storable(str(row.get("stop_reason") or "")),
            said=conversation(str(row.get("input_prompt") or ""), response),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None


def _rewards(score: Any) -> list[float]:
    return [float(reward) for reward in score] if isinstance(score, list) else [float(score)]


def _optional_int(value: Any, *, below: int) -> int | None:
    number = None if value is None else int(value)
    return number if number is not None and abs(number) < below else None


def _env_id(text: str) -> str:
    return storable(text)[:MAX_ENV_ID_CHARS]


def _turns(response: str) -> int:
    """Model turns. The first one's mark is the last of the prompt, so it is not in the response."""
    return 1 + response.count(ASSISTANT_TURN) if response else 0
