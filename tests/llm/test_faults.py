"""Errors that are made to do harm: they end as errors, at once, and never as a crash."""

import json
from datetime import UTC, datetime

import pytest

from app.llm import faults
from app.llm.answers import Reading
from app.llm.chat import ModelError
from app.llm.chat import ModelErrorKind as Kind
from tests.processor import processor_under

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LARGE = "9" * 30


@pytest.mark.parametrize(
    "text",
    [
        f"Mon, 01 Jan {LARGE} 00:00:00 GMT",
        f"Mon, {LARGE} Jan 2026 00:00:00 GMT",
        f"Mon, 01 Jan 2026 {LARGE}:00:00 GMT",
        f"Mon, 01 Jan 2026 00:00:00 +{LARGE}",
        "nan",
        "٣",
        "-5",
        "",
    ],
)
def test_a_wait_that_is_no_time_is_none(text: str) -> None:
    assert faults.retry_after(text, NOW) is None


def nested(depth: int, kind: str) -> str:
    text = {"list": "[" * depth + '"x"' + "]" * depth, "dict": '{"error":' * depth + "1"}[kind]
    return text + "}" * depth if kind == "dict" else text


@pytest.mark.parametrize("kind", ["list", "dict"])
@pytest.mark.parametrize("depth", [40, 450, 900])
def test_an_error_nested_without_end_is_an_error(kind: str, depth: int) -> None:
    with pytest.raises(ModelError):
        Reading(1_000).take_piece(f'{{"error": {nested(depth, kind)}}}')
    assert faults.of_answer(500, nested(depth, kind).encode(), {}).kind is Kind.SERVER_ERROR


def test_a_long_error_is_read_in_time_that_grows_with_its_length() -> None:
    text = "context length " + "max_tokens " * 50_000
    # Tried at each word anew, it would take minutes.
    with processor_under(2):
        with pytest.raises(ModelError) as caught:
            Reading(1_000).take_piece(json.dumps({"error": {"code": 400, "message": text}}))
        assert caught.value.kind is Kind.CONTEXT_OVERFLOW


def test_more_answer_than_fits_is_no_overflow_of_the_conversation() -> None:
    text = "max_tokens=9000 cannot be greater than the context length of 8192"
    assert faults.of_answer(400, text.encode(), {}).kind is Kind.BAD_REQUEST
