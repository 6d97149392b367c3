"""Each way in which a served model may misbehave ends in time, in a state that people can read."""

import asyncio

import pytest

from app.llm.chat import Completion, ModelError, Sampling
from app.llm.chat import ModelErrorKind as Kind
from app.llm.words import storable
from tests.fakes.openai_hostile import BEHAVIOURS, PREFIX, RETRY_AFTER_SECONDS, WORDS
from tests.fakes.openai_server import BASE, KEY, FakeOpenAI
from tests.llm.conftest import PATIENT, QUICK, Open

MESSAGES = [{"role": "user", "content": "Which way?"}]
HANGS_SECONDS = 60
"""Whoever has not ended by then has no limit."""
RIGHT = "<action>('move', 0)</action>"
# What each comes to; behind the bar where an answer in one piece ends differently from a stream.
ENDS: dict[str, Kind | str | tuple[Kind | str, Kind | str]] = {
    **{name: storable(text) for name, text in WORDS.items()},
    "error-object": Kind.SERVER_ERROR,
    "error-string": Kind.SERVER_ERROR,
    "error-detail": Kind.SERVER_ERROR,
    "error-detail-list": Kind.BAD_REQUEST,
    "ray-wrapped": Kind.BAD_REQUEST,
    "ray-traceback": Kind.SERVER_ERROR,
    "html-500": Kind.SERVER_ERROR,
    "html-200": Kind.BAD_ANSWER,
    "huge-error": Kind.SERVER_ERROR,
    "echo-key": Kind.BAD_REQUEST,
    "unauthorized": Kind.UNAUTHORIZED,
    "forbidden": Kind.UNAUTHORIZED,
    "unknown-adapter": Kind.NOT_FOUND,
    "context-overflow": Kind.CONTEXT_OVERFLOW,
    "context-overflow-image": Kind.CONTEXT_OVERFLOW,
    "rate-limited": Kind.RATE_LIMITED,
    "rate-limited-date": Kind.RATE_LIMITED,
    "overloaded": Kind.SERVER_ERROR,
    "hang-before": Kind.TIMED_OUT,
    "hang-inside": Kind.TIMED_OUT,
    "slow-drip": Kind.TIMED_OUT,
    "continue-flood": Kind.TIMED_OUT,
    "keep-alive-comments": Kind.TIMED_OUT,
    "reset-before": Kind.INTERRUPTED,
    "reset-inside": Kind.INTERRUPTED,
    "close-before": Kind.INTERRUPTED,
    "close-inside": Kind.INTERRUPTED,
    "no-http": Kind.BAD_ANSWER,
    "huge-answer": Kind.TOO_LARGE,
    "huge-event": Kind.TOO_LARGE,
    "endless-stream": Kind.TOO_LARGE,
    "gzip-bomb": Kind.TOO_LARGE,
    "gzip-damaged": Kind.BAD_ANSWER,
    "huge-head": Kind.TOO_LARGE,
    "deep-json": Kind.BAD_ANSWER,
    "long-number": Kind.BAD_ANSWER,
    "half-json": Kind.BAD_ANSWER,
    "empty-body": Kind.BAD_ANSWER,
    "bad-utf8": Kind.BAD_ANSWER,
    "json-list": Kind.BAD_ANSWER,
    "empty-choices": Kind.BAD_ANSWER,
    "no-choices": Kind.BAD_ANSWER,
    "strange-choices": Kind.BAD_ANSWER,
    "wrong-model": Kind.BAD_ANSWER,
    "wrong-type": RIGHT,
    "nan-usage": RIGHT,
    "null-content": Kind.BAD_ANSWER,
    "parts-content": RIGHT,
    "tool-calls": Kind.BAD_ANSWER,
    "refusal": "I cannot help with mazes.",
    "no-done": (Kind.BAD_ANSWER, RIGHT),
    "cut-stream": (Kind.BAD_ANSWER, Kind.INTERRUPTED),
    "stream-error": (Kind.BAD_ANSWER, Kind.SERVER_ERROR),
    "stream-error-string": (Kind.BAD_ANSWER, Kind.SERVER_ERROR),
    "plain-for-stream": RIGHT,
    "redirect": Kind.REFUSED,
    "redirect-inside": Kind.REFUSED,
}


async def ask(
    fake: FakeOpenAI, open_model: Open, model: str, *, streams: bool, ends: bool = True
) -> Completion:
    """`ends`: the server's answer does by itself."""
    pieces: list[str] = []
    on_text = pieces.append if streams else None
    limits = PATIENT if ends else QUICK
    async with asyncio.timeout(HANGS_SECONDS):
        return await open_model(fake, model, limits=limits).complete(
            MESSAGES, sampling=Sampling(), on_text=on_text
        )


async def test_every_behaviour_is_judged_here() -> None:
    assert set(ENDS) == set(BEHAVIOURS)


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("name", sorted(BEHAVIOURS))
async def test_each_ends_in_time_and_in_a_clear_state(
    vllm: FakeOpenAI, open_model: Open, name: str, streams: bool
) -> None:
    wanted = ENDS[name]
    if isinstance(wanted, tuple):
        wanted = wanted[streams]
    if isinstance(wanted, Kind):
        ends = wanted is not Kind.TIMED_OUT
        with pytest.raises(ModelError) as caught:
            await ask(vllm, open_model, PREFIX + name, streams=streams, ends=ends)
        error = caught.value
        assert error.kind is wanted
        assert 20 < len(error.message) <= 500
        assert error.message.endswith((".", "…"))
        assert error.message == " ".join(error.message.split())
        assert KEY not in error.message
        assert "\x1b" not in error.message
        assert "/home/" not in error.message
    else:
        found = await ask(vllm, open_model, PREFIX + name, streams=streams)
        assert found.text == wanted
        found.text.encode()
        assert "\0" not in found.text


async def test_a_caller_may_leave_at_any_time_and_the_server_notices(
    vllm: FakeOpenAI, open_model: Open
) -> None:
    asking = asyncio.create_task(ask(vllm, open_model, f"{PREFIX}hang-inside", streams=True))
    while not vllm.requests:  # noqa: ASYNC110 - the fake has no event for it
        await asyncio.sleep(0.005)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    async with asyncio.timeout(HANGS_SECONDS):
        while vllm.open_count:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_a_retry_succeeds_once_the_server_is_well(vllm: FakeOpenAI, open_model: Open) -> None:
    model = open_model(vllm, BASE)
    for name in ("reset-before", "html-500", "close-inside", "no-http", "gzip-damaged"):
        vllm.behave(BASE, name)
        with pytest.raises(ModelError) as caught:
            await model.complete(MESSAGES, sampling=Sampling())
        assert caught.value.is_retryable
        vllm.behave(BASE, None)
        assert (await model.complete(MESSAGES, sampling=Sampling())).text == RIGHT


@pytest.mark.parametrize(
    ("name", "seconds"),
    [("rate-limited", RETRY_AFTER_SECONDS), ("rate-limited-date", 3600), ("overloaded", None)],
)
async def test_how_long_a_server_asks_to_wait_is_read(
    vllm: FakeOpenAI, open_model: Open, name: str, seconds: float | None
) -> None:
    with pytest.raises(ModelError) as caught:
        await ask(vllm, open_model, PREFIX + name, streams=False)
    assert caught.value.retry_after_seconds == seconds
    assert caught.value.is_retryable


async def test_an_echoed_key_is_masked(vllm: FakeOpenAI, open_model: Open) -> None:
    with pytest.raises(ModelError, match=r"header authorization: \*\*\*"):
        await ask(vllm, open_model, f"{PREFIX}echo-key", streams=False)


async def test_the_cause_of_a_traceback_is_shown_and_nothing_else(
    vllm: FakeOpenAI, open_model: Open
) -> None:
    with pytest.raises(ModelError) as caught:
        await ask(vllm, open_model, f"{PREFIX}ray-traceback", streams=False)
    assert "HTTP 500: ValueError: LoRA rank 64 is greater than max_lora_rank 32." in str(
        caught.value
    )
    assert "ServeReplica" not in str(caught.value)
