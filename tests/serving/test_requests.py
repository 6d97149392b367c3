"""What is sent: sampling, limits, hostile bodies and pictures; the recorded refusals of vLLM."""

import base64
import contextlib
import io
import json
import struct
import zlib
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.conformance.cases import case_files
from tests.processor import processor_under
from tests.serving.conftest import KEY, Messages, ask, message_of, opening, says
from worker.jobs.maze_grpo.answers import TEXTS
from worker.serving import limits
from worker.serving.errors import ServingError
from worker.serving.pictures import Pictures
from worker.serving.requests import parse

_ROUTE = "/chat/completions"


def with_picture(uri: str) -> Messages:
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": uri}}]}]


def picture(size: tuple[int, int], shape: str = "PNG") -> str:
    out = io.BytesIO()
    Image.new("RGB", size, "white").save(out, shape)
    return f"data:image/x;base64,{base64.b64encode(out.getvalue()).decode()}"


def declared(size: tuple[int, int]) -> str:
    """A PNG whose head claims another size than it has: making a real bomb takes ten seconds."""
    made = bytearray(base64.b64decode(picture((1, 1)).partition(",")[2]))
    # The head lies at a fixed place: length (8:12), IHDR (12:16), its 13 bytes, their checksum.
    made[16:24] = struct.pack(">II", *size)
    made[29:33] = struct.pack(">I", zlib.crc32(made[12:29]))
    return f"data:image/x;base64,{base64.b64encode(made).decode()}"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
async def test_pictures_of_each_kind_are_read(api: httpx.AsyncClient, kind: str) -> None:
    assert await says(api, with_picture(picture((225, 225), kind))) in TEXTS


REFUSED = {
    "another size": (picture((275, 275)), "knows pictures of 225 x 225 pixels"),
    "a bomb": (declared((20_000, 20_000)), "far too many pixels"),
    "another kind": (picture((225, 225), "TIFF"), "cannot identify image file"),
    "an address": ("http://127.0.0.1:1/x.png", "Only data: URLs"),
    "a file": ("file:///etc/passwd", "Only data: URLs"),
    "no base64": ("data:image/png,abc", "Only base64"),
    "bad base64": ("data:image/png;base64,A", "Non-base64 digit found"),
    "not ASCII": ("data:image/png;base64,é", "Non-base64 digit found"),
    "nothing": ("", "Only data: URLs"),
}


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("case", REFUSED)
async def test_a_picture_that_cannot_be_used_is_refused(api: httpx.AsyncClient, case: str) -> None:
    uri, why = REFUSED[case]
    assert why in message_of(await ask(api, with_picture(uri)), 400)


@given(st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_damaged_picture_is_more_than_a_refusal(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["PNG", "JPEG", "WEBP", "GIF", "BMP"]))
    whole = bytearray(base64.b64decode(picture((225, 225), kind).partition(",")[2]))
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    whole = whole[: data.draw(st.integers(0, len(whole)))]
    uri = f"data:image/x;base64,{base64.b64encode(whole).decode()}"
    # Anything else than a picture or a refusal fails the test.
    with contextlib.suppress(ServingError):
        assert Pictures().read(uri).shape == (243,)


BODIES: dict[str, tuple[bytes, int]] = {
    "nothing": (b"", 400),
    "no JSON": (b"{'a': 1}", 400),
    "a list": (b"[]", 400),
    "null": (b"null", 400),
    "bad UTF-8": (b'{"model": "\xff"}', 400),
    "brackets without end": (b"[" * 100_000, 400),
    "a number of 5,000 digits": (b'{"seed": ' + b"9" * 5_000 + b"}", 400),
    "a lone surrogate": (rb'{"model": "\ud800", "messages": []}', 400),
    "no messages": (b'{"messages": []}', 400),
    "messages of words": (b'{"messages": "hi"}', 400),
    "a part of another kind": (
        b'{"messages": [{"role": "user", "content": [{"type": "video_url"}]}]}',
        400,
    ),
    "no picture": (b'{"messages": [{"role": "user", "content": "hi"}]}', 400),
    "too large": (b" " * (limits.MAX_BODY_BYTES + 1), 413),
}


@pytest.mark.parametrize("case", BODIES)
async def test_a_body_that_says_nothing_is_refused(api: httpx.AsyncClient, case: str) -> None:
    body, status = BODIES[case]
    assert len(message_of(await api.post(_ROUTE, content=body), status)) < 2_000


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages": [%s]}',
        b'{"messages": [{"role": "user", "content": [%s]}]}',
        b'{"messages": [], "stop": [%s]}',
    ],
)
@pytest.mark.parametrize("item", [b"1", b"{}", b"[]"])
def test_a_million_mistakes_are_refused_at_once(body: bytes, item: bytes) -> None:
    count = (limits.MAX_BODY_BYTES - 100) // (len(item) + 1)
    # Each of them as a problem of its own took over five seconds.
    with processor_under(2), pytest.raises(ServingError, match="t most"):
        parse(body % b",".join([item] * count))


async def test_half_a_character_in_any_text_is_no_crash(
    api: httpx.AsyncClient, messages: Messages
) -> None:
    half = "\ud800"
    message_of(await api.post(_ROUTE, content=_json(messages, model=half)), 404)
    message_of(await api.post(_ROUTE, content=_json(messages, temperature=half)), 400)
    message_of(await api.post(_ROUTE, content=_json([{"role": 1, half: half}])), 400)
    message_of(await api.post(_ROUTE, content=_json([{"role": half, "content": half}])), 400)
    for uri in (half, f"data:{half}", f"data:image/png;base64,{half}"):
        message_of(await api.post(_ROUTE, content=_json(with_picture(uri))), 400)
    assert (await api.post(_ROUTE, content=_json(messages, stop=[half]))).status_code == 200


def _json(messages: Messages, **fields: Any) -> bytes:
    """Halves as escapes, as they come over the wire."""
    return json.dumps({"messages": messages} | fields).encode()


async def test_a_body_without_a_length_is_bounded_too(api: httpx.AsyncClient) -> None:
    async def endless() -> Any:
        while True:
            yield b" " * 65_536

    message_of(await api.post(_ROUTE, content=endless()), 413)


FIELDS: dict[str, Any] = {
    "temperature": [-1, "hot", float("inf")],
    "top_p": [0, 1.5],
    "top_k": [-2],
    "min_p": [-0.1, 2],
    "n": [0, 2],
    "max_tokens": [0, -1, limits.MAX_MODEL_LEN + 1],
    "max_completion_tokens": [0],
    "seed": [2**63, "x"],
    "stop": [[""], ["x"] * 17],
    "top_logprobs": [-1, 21],
    "stream_options": [{"include_usage": True}],
}


@pytest.mark.parametrize("name", FIELDS)
async def test_a_value_out_of_its_range_is_refused_by_name(
    api: httpx.AsyncClient, messages: Messages, name: str
) -> None:
    for value in FIELDS[name]:
        body = json.dumps({"messages": messages, name: value})
        found = await api.post(_ROUTE, content=body)
        message_of(found, 400)
        assert name in found.json()["error"]["param"]


async def test_too_much_of_anything_is_refused(api: httpx.AsyncClient, messages: Messages) -> None:
    many = messages * (limits.MAX_IMAGES + 1)
    assert "At most 64 image(s)" in message_of(await ask(api, many), 400)
    words = [{"role": "user", "content": "hi"}] * (limits.MAX_MESSAGES + 1)
    assert "At most 256 messages" in message_of(await ask(api, words), 400)
    long = [{"role": "user", "content": "word " * limits.MAX_MODEL_LEN}]
    assert f"at least {limits.MAX_MODEL_LEN + 1} input" in message_of(await ask(api, long), 400)
    assert "Input length (" in message_of(await ask(api, messages + long), 400)


async def test_the_hottest_and_widest_draws_are_answers(
    api: httpx.AsyncClient, messages: Messages
) -> None:
    for fields in (
        {"temperature": 1e308},
        {"temperature": 1.1e-5},
        {"temperature": 1.0, "top_k": 10**30},
        {"temperature": 1.0, "top_p": 5e-324},
        {"temperature": 1.0, "seed": -(2**63)},
    ):
        assert await says(api, messages, logprobs=True, **fields) in TEXTS


async def test_the_same_seed_draws_the_same_words(api: httpx.AsyncClient) -> None:
    async def words(**fields: Any) -> list[str]:
        hot = {"temperature": 3.0, **fields}
        return [await says(api, opening(maze), **hot) for maze in range(25)]

    assert await words(seed=5) == await words(seed=5)
    assert await words(seed=-7) != await words(seed=5)
    greedy = [await says(api, opening(maze)) for maze in range(25)]
    assert await words(top_k=1) == await words(top_p=1e-9) == await words(min_p=1.0) == greedy
    assert await words() != greedy


CUTS: dict[str, tuple[dict[str, Any], str, str, str | None, int]] = {
    "one token": ({"max_tokens": 1}, "<action>", "length", None, 1),
    "two": ({"max_completion_tokens": 2}, "<action>right", "length", None, 2),
    "all": ({"max_tokens": 4}, "<action>right</action>", "stop", None, 4),
    "a stop": ({"stop": "igh"}, "<action>r", "stop", "igh", 2),
    "a stop over tokens": ({"stop": ["n>ri"]}, "<actio", "stop", "n>ri", 2),
    "a kept stop": (
        {"stop": ["t</"], "include_stop_str_in_output": True},
        "<action>right</",
        "stop",
        "t</",
        3,
    ),
    "another stop": ({"stop": ["left"]}, "<action>right</action>", "stop", None, 4),
}


@pytest.mark.parametrize("case", CUTS)
async def test_an_answer_ends_where_it_is_told(
    api: httpx.AsyncClient, messages: Messages, case: str
) -> None:
    fields, text, finish, stop, tokens = CUTS[case]
    found = (await ask(api, messages, **fields)).json()
    [choice] = found["choices"]
    assert choice["message"]["content"] == text
    assert (choice["finish_reason"], choice["stop_reason"]) == (finish, stop)
    assert found["usage"]["completion_tokens"] == tokens


async def test_log_probabilities_are_of_all_five_words(
    api: httpx.AsyncClient, messages: Messages
) -> None:
    found = await ask(api, messages, logprobs=True, top_logprobs=20)
    content = found.json()["choices"][0]["logprobs"]["content"]
    assert [each["token"] for each in content] == ["<action>", "right", "</action>", "<|im_end|>"]
    top = [each["logprob"] for each in content[1]["top_logprobs"]]
    assert len(top) == 5
    assert top == sorted(top, reverse=True)
    assert content[1]["logprob"] == top[0]


async def test_the_key_guards_what_is_under_v1(api: httpx.AsyncClient) -> None:
    for key in ("", "wrong", KEY[:-1], f"{KEY}x"):
        headers = {"Authorization": f"Bearer {key}"}
        for path in ("/models", "/nope", "/load_lora_adapter"):
            found = await api.get(path, headers=headers)
            assert (found.status_code, found.json()) == (401, {"error": "Unauthorized"})
    assert (await api.get("http://endpoint/health", headers={"Authorization": ""})).content == b""
    assert (await api.get("http://endpoint/version")).json() == {"version": "1.2.3"}


async def test_the_busy_endpoint_sends_away(
    api: httpx.AsyncClient, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.serving.server.MAX_RUNNING", 0)
    found = await ask(api, messages)
    message_of(found, 503)
    assert found.headers["retry-after"] == "1"


RECORDED = {file.stem: json.loads(file.read_text()) for file in case_files("vllm", "error-*.json")}


@pytest.mark.parametrize("name", RECORDED)
async def test_recorded_refusals_are_given_in_the_same_shape(
    api: httpx.AsyncClient, name: str
) -> None:
    case = RECORDED[name]
    sent, recorded = case["request"], case["response"]
    body = sent.get("body", sent.get("text"))
    content = body if isinstance(body, str | None) else json.dumps(_ours(body, name))
    url = f"http://endpoint{sent['path']}"
    found = await api.request(sent["method"], url, content=content)
    assert found.status_code == recorded["status"], found.text
    told, wanted = found.json(), recorded["body"]
    if "error" not in wanted:
        assert told == wanted
        return
    assert {**told["error"], "message": ""} == {**wanted["error"], "message": ""}
    if not any(part in name for part in ("too-many", "max-tokens", "overflow", "404")):
        assert told["error"]["message"] == wanted["error"]["message"]


def _ours(body: dict[str, Any], name: str) -> dict[str, Any]:
    """The recorded request for our model, whose limits are higher."""
    body = {**body, "model": body.get("model", "").replace("visgym-qwen3vl", "maze-base")}
    if "too-many" in name or "overflow" in name:
        body["messages"] = body["messages"] * 4
    if "max-tokens" in name:
        body["max_tokens"] = limits.MAX_MODEL_LEN + 1
    return body


def test_what_the_other_side_needs_not_send_has_a_default() -> None:
    request = parse(b'{"messages": [{"role": "user"}], "unknown": 1, "n": 1}')
    assert (request.model, request.stream, request.temperature) == (None, False, 1.0)
