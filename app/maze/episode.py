"""`Episode`: a conversation about one maze, as SkyRL's VisGym environments hold it.

Source: SkyRL commit a9564572, `examples/train/visgym/env_sft.py` (tuple dialect) and
`env_instruct.py` (keyword dialect); recorded in
`tests/conformance/data/visgym/sft-episodes.json`.
"""

from base64 import b64encode
from dataclasses import dataclass
from typing import Any

from app.maze.env import MazeEnv
from app.maze.parse import Dialect, has_valid_format, parse
from app.maze.prompt import PARSE_FAILURES, first_prompt

Message = dict[str, Any]
"""A chat message in OpenAI's form."""

TASK_SHARE, FORMAT_SHARE = 0.8, 0.2
"""Shares of the final reward in the tuple dialect. The keyword dialect pays for the task alone."""


class EpisodeOver(RuntimeError):
    """A turn was taken after the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """What one answer did.

    `action` is the text given to the maze, None if none was found; then the maze was not touched.
    `feedback` is what the model is told. `reward` is 0.0 until `done`.
    """

    number: int
    answer: str
    action: str | None
    feedback: str
    reward: float
    terminated: bool
    done: bool

    @property
    def parsed(self) -> bool:
        return self.action is not None

    def metadata(self) -> dict[str, object]:
        """The step's metadata as SkyRL's environments give it."""
        return {
            "env_feedback": self.feedback if self.parsed else "parse_failure",
            "terminated": self.terminated,
            "truncated": False,
            "step_count": self.number,
            "extracted_action": self.action or "",
        }


class Episode:
    """At most `max_turns` answers about the maze of one seed. Not safe to share between threads.

    `env` is the maze as it stands, `messages` the whole conversation to send: text first, then
    the picture, and no user message after the last turn.
    """

    def __init__(
        self,
        env_id: str,
        seed: int | None,
        *,
        max_turns: int,
        dialect: Dialect = Dialect.TUPLE,
        has_pictures: bool = True,
    ) -> None:
        """Without a seed the maze is a random one. Raises `ValueError` for bad arguments.

        Drawing takes most of the time: without pictures the messages hold text only, which is
        enough to follow what was played.
        """
        if max_turns < 1:
            raise ValueError(f"max_turns must be at least 1, not {max_turns}")
        self.env_id = env_id
        self.seed = seed
        self.max_turns = max_turns
        self.dialect = Dialect(dialect)
        self._has_pictures = has_pictures
        self.env = MazeEnv.of(env_id)
        self.env.reset(seed)
        self.done = False
        self.solved = False
        self.turns = 0
        self.parse_failures = 0
        self.format_successes = 0
        text = first_prompt(self.dialect, height=self.env.height, width=self.env.width)
        self.messages: list[Message] = [self._user_message(text)]

    def turn(self, answer: str) -> TurnResult:
        """Takes the model's `answer` as it is. Raises `EpisodeOver` after the last turn."""
        if self.done:
            raise EpisodeOver(f"the episode ended after {self.turns} turns")
        self.turns += 1
        self.format_successes += has_valid_format(answer)
        result = self._carry_out(answer)
        self.done = result.done
        self.messages.append({"role": "assistant", "content": answer})
        if not self.done:
            self.messages.append(self._user_message(result.feedback))
        return result

    def metrics(self) -> dict[str, object]:
        """The episode's metrics as SkyRL's environment of this dialect gives them."""
        counts: dict[str, object] = {
            "step_count": self.turns,
            "parse_failures": self.parse_failures,
            "visgym_env_id": self.env_id,
        }
        if self.dialect is Dialect.TUPLE:
            counts["format_successes"] = self.format_successes
            counts["format_success_rate"] = self._format_rate() if self.turns else 0.0
        return counts

    def _carry_out(self, answer: str) -> TurnResult:
        parsed = parse(answer, self.dialect)
        task_reward, terminated, feedback = 0.0, False, PARSE_FAILURES[self.dialect]
        if parsed.matched:
            task_reward, terminated, _, feedback = self.env.step(parsed.action)
            self.solved = task_reward > 0
        else:
            self.parse_failures += 1
        done = terminated or self.turns >= self.max_turns
        return TurnResult(
            number=self.turns,
            answer=answer,
            action=parsed.action if parsed.matched else None,
            feedback=feedback,
            reward=self._final_reward(task_reward) if done else 0.0,
            terminated=terminated,
            done=done,
        )

    def _final_reward(self, task_reward: float) -> float:
        if self.dialect is Dialect.KEYWORD:
            return task_reward
        return TASK_SHARE * task_reward + FORMAT_SHARE * self._format_rate()

    def _format_rate(self) -> float:
        return self.format_successes / self.turns

    def _user_message(self, text: str) -> Message:
        content: list[Message] = [{"type": "text", "text": text}]
        if self._has_pictures:
            picture = {"url": png_data_uri(self.env.png())}
            content.append({"type": "image_url", "image_url": picture})
        return {"role": "user", "content": content}


def png_data_uri(png: bytes) -> str:
    """A PNG file as a `data:` URI."""
    return f"data:image/png;base64,{b64encode(png).decode()}"
