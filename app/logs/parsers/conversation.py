"""Splits a dumped episode into its turns, by the marks of Qwen's chat template.

SkyRL dumps a whole conversation as one prompt and one response: the first answer, then each user
message with the answer to it. Seen in `tests/conformance/data/skyrl/eval-dump-sample`.
"""

import re
from dataclasses import dataclass

from app.logs.parsers.records import storable

ASSISTANT_TURN = "<|im_start|>assistant"
_END = "<|im_end|>"
_USER_TURN = "<|im_start|>user\n"
_PICTURE = re.compile(r"<\|(?:vision_start|image_pad|vision_end)\|>")
# The sentence of the keyword dialect's prompt that the tuple dialect's lacks.
_KEYWORD_MARK = "<action>ACTION</action>"


@dataclass(frozen=True, slots=True)
class Conversation:
    """`feedbacks` are what the environment said after each answer, so one fewer than `answers`.

    `has_keywords`: the prompt asks for `<action>` tags, else for a tuple.
    """

    answers: tuple[str, ...] = ()
    feedbacks: tuple[str, ...] = ()
    has_keywords: bool = False

    @property
    def length(self) -> int:
        """In characters."""
        return sum(map(len, self.answers)) + sum(map(len, self.feedbacks))


def conversation(prompt: str, response: str) -> Conversation:
    """What was said; nothing for an empty response."""
    if not response:
        return Conversation()
    first, *others = response.split(ASSISTANT_TURN)
    answers, feedbacks = [_answer(first)], []
    before = first
    for part in others:
        feedbacks.append(_feedback(before))
        # The template puts a line break between the role and the text.
        answers.append(_answer(part.removeprefix("\n")))
        before = part
    return Conversation(tuple(answers), tuple(feedbacks), _KEYWORD_MARK in prompt)


def _answer(part: str) -> str:
    return storable(part.partition(_END)[0])


def _feedback(part: str) -> str:
    """The user message at the end of what stands before an answer."""
    text = part.rpartition(_USER_TURN)[2].rpartition(_END)[0]
    return storable(_PICTURE.sub("", text))
