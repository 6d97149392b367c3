"""What callers rely on, asked of each server. Words are a model's own affair; shapes are not."""

import json
from typing import Any

import httpx
import pytest

from tests.conformance.cases import case_files
from tests.contract.conftest import Server
from tests.serving.conftest import Messages, opening

_ROUTE = "/chat/completions"
# What a server may add or leave out from version to version.
_OPTIONAL = {
    *("prompt_text", "ec_transfer_params", "kv_transfer_params", "service_tier", "metrics"),
    "permission",
}


def recorded(name: str) -> Any:
    """The answer of a real vLLM."""
    [file, *_] = case_files("vllm", f"{name}.json")
    return json.loads(file.read_text())["response"]


async def ask(api: httpx.AsyncClient, **fields: Any) -> httpx.Response:
    body = {"messages": opening(0), "temperature": 0, "max_tokens": 16}
    return await api.post(_ROUTE, json=body | fields)


def _events(text: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


def _shape(value: Any) -> Any:
    """Names of fields, deep, without what is optional."""
    if isinstance(value, dict):
        return {name: _shape(each) for name, each in value.items() if name not in _OPTIONAL}
    return [_shape(value[0])] if isinstance(value, list) and value else None


async def test_models_are_listed_with_the_adapters_base(
    api: httpx.AsyncClient, server: Server
) -> None:
    found = (await api.get("/models")).json()
    assert found["object"] == "list"
    models = {model["id"]: model for model in found["data"]}
    assert {server.base, server.adapter} <= models.keys()
    if not server.is_ray:
        assert models[server.base]["parent"] is None
        assert models[server.base]["max_model_len"] == server.max_model_len
        assert models[server.adapter]["parent"] == server.base
        assert models[server.adapter]["max_model_len"] is None
        assert _shape(found["data"]) == _shape(recorded("models")["body"]["data"])


@pytest.mark.parametrize("which", ["base", "adapter"])
async def test_an_answer_has_text_a_reason_to_end_and_usage(
    api: httpx.AsyncClient, server: Server, which: str
) -> None:
    model = getattr(server, which)
    response = await ask(api, model=model)
    assert response.status_code == 200, response.text
    found = response.json()
    assert (found["object"], found["model"]) == ("chat.completion", model)
    [choice] = found["choices"]
    assert choice["message"]["role"] == "assistant"
    assert isinstance(choice["message"]["content"], str)
    assert choice["finish_reason"] in ("stop", "length")
    usage = found["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert 0 < usage["completion_tokens"] <= 16
    assert _shape(found) == _shape(recorded("chat-base-turn1")["body"])


async def test_the_base_answers_where_no_model_is_named(
    api: httpx.AsyncClient, server: Server
) -> None:
    assert (await ask(api)).json()["model"] == server.base


async def test_greedy_answers_repeat_and_are_the_same_when_streamed(
    api: httpx.AsyncClient, server: Server
) -> None:
    whole = (await ask(api, model=server.adapter)).json()
    again = (await ask(api, model=server.adapter)).json()
    assert whole["choices"] == again["choices"]
    options = {"stream": True, "stream_options": {"include_usage": True}}
    response = await ask(api, model=server.adapter, **options)
    assert response.headers["content-type"].startswith("text/event-stream")
    *chunks, last = _events(response.text)
    assert last["choices"] == []
    counts = ("prompt_tokens", "completion_tokens", "total_tokens")
    assert [last["usage"][name] for name in counts] == [whole["usage"][name] for name in counts]
    pieces = [chunk["choices"][0] for chunk in chunks]
    assert pieces[0]["delta"] == {"role": "assistant", "content": ""}
    text = "".join(piece["delta"].get("content") or "" for piece in pieces)
    assert text == whole["choices"][0]["message"]["content"]
    reasons = [piece["finish_reason"] for piece in pieces]
    assert reasons == [None] * (len(pieces) - 1) + [whole["choices"][0]["finish_reason"]]
    assert {(chunk["id"], chunk["object"], chunk["model"]) for chunk in [*chunks, last]} == {
        (last["id"], "chat.completion.chunk", server.adapter)
    }


async def test_usage_is_streamed_only_if_asked_for(api: httpx.AsyncClient) -> None:
    events = _events((await ask(api, stream=True)).text)
    assert all(event["choices"] for event in events)


async def test_a_few_tokens_are_cut_off(api: httpx.AsyncClient) -> None:
    found = (await ask(api, max_tokens=1)).json()
    assert found["choices"][0]["finish_reason"] == "length"
    assert found["usage"]["completion_tokens"] == 1


async def test_prompt_and_answer_together_may_be_longer_than_the_window(
    api: httpx.AsyncClient, server: Server
) -> None:
    assert (await ask(api, max_tokens=server.max_model_len - 10)).status_code == 200


async def test_errors_before_the_first_token_are_plain_json(
    api: httpx.AsyncClient, server: Server
) -> None:
    for stream in (False, True):
        for model in ("nope", f"{server.base}:nope"):
            found = await ask(api, model=model, stream=stream)
            assert found.status_code == 404
            assert found.headers["content-type"] == "application/json"
            if not server.is_ray:
                error = found.json()["error"]
                assert {**error, "message": ""} == {
                    "message": "",
                    "type": "NotFoundError",
                    "param": "model",
                    "code": 404,
                }
                assert f"The model `{model}` does not exist." in error["message"]


def _pictures(count: int) -> Messages:
    [first] = opening(0)
    return [{**first, "content": [first["content"][1]] * count}]


def _picture(uri: str) -> Messages:
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": uri}}]}]


async def _refusal(api: httpx.AsyncClient, server: Server, **fields: Any) -> str:
    """The words of a 400, whichever dialect they are in."""
    found = await ask(api, **fields)
    assert found.status_code == 400, found.text
    error = found.json()["error"]
    if not server.is_ray:
        assert (error["type"], error["code"]) == ("BadRequestError", 400)
    return str(error["message"])


async def test_what_cannot_be_answered_is_a_400_that_says_why(
    api: httpx.AsyncClient, server: Server
) -> None:
    many = await _refusal(api, server, messages=_pictures(server.max_images + 1))
    assert f"At most {server.max_images} image(s) may be provided in one prompt." in many
    long = [{"role": "user", "content": "é" * (server.max_model_len * 5)}]
    assert "maximum context length" in await _refusal(api, server, messages=long)
    asked = await _refusal(api, server, max_tokens=server.max_model_len + 1)
    assert f"cannot be greater than max_model_len={server.max_model_len}" in asked
    no_base64 = _picture("data:image/png;base64,A")
    assert "Non-base64 digit found" in await _refusal(api, server, messages=no_base64)
    no_picture = _picture("data:image/png;base64,dGhpcyBpcyBub3QgYSBwaWN0dXJl")
    said = await _refusal(api, server, messages=no_picture)
    assert "cannot identify image file" in said


async def test_a_body_that_says_nothing_is_a_400(api: httpx.AsyncClient, server: Server) -> None:
    for name, body in (("messages", b'{"model": "x"}'), ("json", b'{"messages": [')):
        found = await api.post(_ROUTE, content=body, headers={"Content-Type": "application/json"})
        assert found.status_code == 400, name
        assert "error" in found.json()
        if not server.is_ray:
            assert found.json()["error"]["type"] == "Bad Request"


async def test_unknown_paths_and_wrong_methods(api: httpx.AsyncClient) -> None:
    found = await api.get("/nope")
    assert (found.status_code, found.json()) == (404, {"detail": "Not Found"})
    found = await api.get(_ROUTE)
    assert (found.status_code, found.json()) == (405, {"detail": "Method Not Allowed"})


async def test_without_the_key_nothing_is_told(api: httpx.AsyncClient, server: Server) -> None:
    if not server.key:
        pytest.skip("this server wants no key")
    for headers in ({"Authorization": ""}, {"Authorization": "Bearer wrong"}):
        for found in (
            await api.get("/models", headers=headers),
            await api.post(_ROUTE, json={"stream": True}, headers=headers),
        ):
            assert found.status_code == 401
            if not server.is_ray:
                assert found.json() == {"error": "Unauthorized"}


async def test_health_and_version_are_open(api: httpx.AsyncClient, server: Server) -> None:
    root = server.base_url.removesuffix("/v1")
    found = await api.get(f"{root}/health", headers={"Authorization": ""})
    if server.is_ray:
        assert found.status_code == 404
        return
    assert (found.status_code, found.content) == (200, b"")
    assert (await api.get(f"{root}/version", headers={"Authorization": ""})).json()["version"]
