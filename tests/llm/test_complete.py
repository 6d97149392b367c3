"""A well-behaved server of either dialect, and what it refuses."""

import pytest

from app.llm.chat import ModelError, Sampling
from app.llm.chat import ModelErrorKind as Kind
from app.llm.dialect import Dialect
from tests.fakes.openai_server import BASE, FakeOpenAI
from tests.llm.conftest import PATIENT, Open
from tests.outgoing.conftest import Rules

MESSAGES = [{"role": "user", "content": "Which way?"}]
RIGHT = "<action>('move', 0)</action>"
ADAPTER = f"{BASE}:maze-stopfix"


async def test_an_answer_in_one_piece(fake: FakeOpenAI, open_model: Open) -> None:
    found = await open_model(fake, ADAPTER).complete(MESSAGES, sampling=Sampling())
    assert (found.text, found.finish_reason, found.model) == (RIGHT, "stop", ADAPTER)
    assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (2, 7)
    assert found.first_token_seconds is None
    assert 0 < found.latency_seconds < PATIENT.total_seconds


async def test_a_stream_gives_its_pieces_as_they_come(fake: FakeOpenAI, open_model: Open) -> None:
    pieces: list[str] = []
    found = await open_model(fake, ADAPTER).complete(
        MESSAGES, sampling=Sampling(), on_text=pieces.append
    )
    assert len(pieces) > 2
    assert "".join(pieces) == found.text == RIGHT
    assert found.usage.completion_tokens == 7
    assert found.first_token_seconds is not None
    assert 0 < found.first_token_seconds <= found.latency_seconds


async def test_streams_share_one_connection(vllm: FakeOpenAI, open_model: Open) -> None:
    model = open_model(vllm, BASE)
    for _ in range(3):
        await model.complete(MESSAGES, sampling=Sampling(), on_text=lambda _: None)
    assert vllm.connection_count == 1


async def test_skyrls_values_are_sent(vllm: FakeOpenAI, open_model: Open) -> None:
    await open_model(vllm, BASE).complete(MESSAGES, sampling=Sampling())
    sent = vllm.requests[-1]
    assert sent.pop("messages") == MESSAGES
    assert sent == {
        "model": BASE,
        "temperature": 0.0,
        "max_tokens": 1024,
        "top_p": 1.0,
        "top_k": -1,
        "min_p": 0.0,
        "min_tokens": 1,
        "skip_special_tokens": True,
        "include_stop_str_in_output": True,
        "stream": False,
    }


async def test_other_servers_get_only_what_the_protocol_knows(
    vllm: FakeOpenAI, open_model: Open
) -> None:
    sampling = Sampling(temperature=0.7, seed=3, stop=("\n",))
    await open_model(vllm, BASE, dialect=Dialect.OTHER).complete(MESSAGES, sampling=sampling)
    assert vllm.requests[-1] == {
        "model": BASE,
        "messages": MESSAGES,
        "temperature": 0.7,
        "max_tokens": 1024,
        "top_p": 1.0,
        "seed": 3,
        "stop": ["\n"],
        "stream": False,
    }


async def test_other_servers_may_answer_under_another_name(
    vllm: FakeOpenAI, open_model: Open
) -> None:
    vllm.behave(BASE, "wrong-model")
    model = open_model(vllm, BASE, dialect=Dialect.OTHER)
    assert (await model.complete(MESSAGES, sampling=Sampling())).model == "somebody-else"


async def test_a_wrong_key_is_refused(fake: FakeOpenAI, open_model: Open) -> None:
    for key in (None, "another-key"):
        with pytest.raises(ModelError) as caught:
            await open_model(fake, BASE, key=key).complete(MESSAGES, sampling=Sampling())
        assert caught.value.kind is Kind.UNAUTHORIZED
        assert "Unauthorized" in caught.value.message
        assert not caught.value.is_retryable


@pytest.mark.parametrize("name", ["nope", f"{BASE}:nope"])
@pytest.mark.parametrize("streams", [False, True])
async def test_an_unknown_model_is_not_found(
    fake: FakeOpenAI, open_model: Open, name: str, streams: bool
) -> None:
    on_text = (lambda _: None) if streams else None
    with pytest.raises(ModelError) as caught:
        await open_model(fake, name).complete(MESSAGES, sampling=Sampling(), on_text=on_text)
    assert (caught.value.kind, caught.value.server_status) == (Kind.NOT_FOUND, 404)


async def test_a_conversation_longer_than_the_context_is_told_apart(
    fake: FakeOpenAI, open_model: Open
) -> None:
    fake.max_model_len = 100
    model = open_model(fake, BASE)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    too_long = [{"role": "user", "content": "word " * 200}]
    too_many_images = [{"role": "user", "content": [image] * 3}]
    for messages in (too_long, too_many_images):
        with pytest.raises(ModelError) as caught:
            await model.complete(messages, sampling=Sampling(max_tokens=10))
        assert caught.value.kind is Kind.CONTEXT_OVERFLOW
    with pytest.raises(ModelError) as caught:
        await model.complete(MESSAGES, sampling=Sampling(max_tokens=101))
    assert caught.value.kind is Kind.BAD_REQUEST


async def test_what_ray_wraps_is_unwrapped(fake: FakeOpenAI, open_model: Open) -> None:
    fake.max_images = 0
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    with pytest.raises(ModelError) as caught:
        await open_model(fake, BASE).complete(
            [{"role": "user", "content": [image]}], sampling=Sampling()
        )
    assert caught.value.message == (
        "The endpoint refused the request (HTTP 400: At most 0 image(s) may be provided in one "
        "prompt. (parameter=image))."
    )


async def test_a_host_that_is_not_allowed_is_not_called(vllm: FakeOpenAI, open_model: Open) -> None:
    with pytest.raises(ModelError) as caught:
        await open_model(vllm, BASE, rules=Rules()).complete(MESSAGES, sampling=Sampling())
    assert caught.value.kind is Kind.REFUSED
    assert "Outgoing hosts" in caught.value.message
    assert not vllm.paths


async def test_nobody_at_the_address(vllm: FakeOpenAI, open_model: Open) -> None:
    vllm.port = 9
    with pytest.raises(ModelError) as caught:
        await open_model(vllm, BASE, rules=Rules("127.0.0.1:9")).complete(
            MESSAGES, sampling=Sampling()
        )
    assert caught.value.kind is Kind.UNREACHABLE
    assert "127.0.0.1:9" in caught.value.message
