"""Reads chat completions, whole and in pieces, of servers that may send anything. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.llm import faults, words
from app.llm.chat import ModelError, ModelErrorKind, Usage

_MOST_TOKENS = 2**31 - 1
_LONGEST_NAME = 200
_LONGEST_REASON = 40


def parse(body: bytes | str) -> Any:
    """JSON of any depth and size. Raises `ModelError`."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        is_page = body[:200].lstrip()[:1] in (b"<", "<")
        what = "it is a web page" if is_page else "it is no JSON" if body else "it is empty"
        raise faults.bad_answer(what) from None


@dataclass(slots=True)
class Reading:
    """What was read so far of one answer; `expected` is the model's name if it must be that.

    Raises `ModelError` from `take_whole`, `take_piece` and `finish`.
    """

    text_length: int
    expected: str | None = None
    hidden: str = ""
    finish_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    is_done: bool = False
    _texts: list[str] = field(default_factory=list)
    _length: int = 0
    _has_choice: bool = False
    _has_words: bool = False
    _has_tools: bool = False

    def take_whole(self, body: Any) -> None:
        """An answer in one piece."""
        self._take(body, "message")
        if not self._has_choice:
            raise faults.bad_answer("it has no choices")
        self.is_done = True

    def take_piece(self, data: str) -> str:
        """An event of a stream; returns the text that came with it."""
        if self.is_done:
            return ""
        if data.strip() == "[DONE]":
            self.is_done = True
            return ""
        return self._take(parse(data), "delta")

    def finish(self) -> str:
        """The whole text, once there is nothing more to come."""
        if not self.is_done and self.finish_reason is None:
            text = "The answer broke off before its end. Try again."
            raise ModelError(ModelErrorKind.INTERRUPTED, text)
        if not self._has_choice:
            raise faults.bad_answer("it has no choices")
        if self._has_tools and not self._length:
            raise faults.bad_answer("the model called a tool instead of answering in words")
        if not self._has_words:
            raise faults.bad_answer("it has no text")
        return words.storable("".join(self._texts))

    def _take(self, body: Any, name: str) -> str:
        if not isinstance(body, Mapping):
            raise faults.bad_answer("it is no JSON object")
        if body.get("error"):
            raise faults.of_event(body, hidden=self.hidden)
        self._note_model(body.get("model"))
        if isinstance(body.get("usage"), Mapping):
            self.usage = _usage(body["usage"])
        choices = body.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if choice is None:
            return ""
        message = choice.get(name) if isinstance(choice, Mapping) else None
        if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
            raise faults.bad_answer(f"its choice has no {name}")
        self._has_choice = True
        self.finish_reason = _reason(choice.get("finish_reason")) or self.finish_reason
        self._has_tools = self._has_tools or bool(message.get("tool_calls"))
        return self._add(_words(message))

    def _add(self, text: str | None) -> str:
        if text is None:
            return ""
        self._has_words = True
        self._length += len(text)
        if self._length > self.text_length:
            raise faults.too_large(f"its text has more than {self.text_length:,} characters")
        self._texts.append(text)
        return text

    def _note_model(self, name: Any) -> None:
        if not isinstance(name, str) or not name:
            return
        self.model = words.storable(name[:_LONGEST_NAME])
        if self.expected is not None and name != self.expected:
            other = words.said(name[:_LONGEST_NAME], hidden=self.hidden)
            raise faults.bad_answer(f"another model gave it, {other}")


def _words(message: Mapping[str, Any]) -> str | None:
    """What the model says; a refusal is said, too. None if there are no words at all."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(text for text in texts if isinstance(text, str))
    if isinstance(message.get("refusal"), str):
        return str(message["refusal"])
    # All tokens went into thinking: nothing was said, and that is an answer.
    thoughts = message.get("reasoning") or message.get("reasoning_content")
    return "" if isinstance(thoughts, str) else None


def _usage(given: Mapping[str, Any]) -> Usage:
    return Usage(_count(given.get("prompt_tokens")), _count(given.get("completion_tokens")))


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return value if is_count and 0 <= value <= _MOST_TOKENS else None


def _reason(value: Any) -> str | None:
    is_word = isinstance(value, str) and value.isprintable() and len(value) <= _LONGEST_REASON
    return (value or None) if is_word else None
