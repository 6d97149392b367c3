"""JSON of answers and of the list of models, field by field as vLLM 0.32 writes it."""

import json
import secrets
import time
from collections.abc import Iterator
from typing import Any

from worker.serving.answers import Answer, Token
from worker.serving.limits import MAX_MODEL_LEN
from worker.serving.requests import ChatRequest

FINGERPRINT = "skydeck-maze"
_NOTHING_IN_MESSAGE = ("refusal", "annotations", "audio", "function_call", "reasoning")
_NOTHING_IN_ANSWER = (
    *("prompt_logprobs", "prompt_token_ids", "prompt_text"),
    *("kv_transfer_params", "ec_transfer_params", "metrics"),
)


def completion(
    answer: Answer, request: ChatRequest, *, model: str, prompt_tokens: int
) -> dict[str, Any]:
    """The whole answer as one object."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": answer.text}
        | dict.fromkeys(_NOTHING_IN_MESSAGE),
        "logprobs": _log_probs(answer.tokens, request),
        "finish_reason": answer.finish_reason,
        "stop_reason": answer.stop_reason,
        "token_ids": None,
        "routed_experts": None,
    }
    return {
        **_head("chat.completion", model),
        "choices": [choice],
        "service_tier": None,
        "system_fingerprint": FINGERPRINT,
        "usage": _usage(answer, prompt_tokens)
        | {"prompt_tokens_details": None, "completion_tokens_details": None},
    } | dict.fromkeys(_NOTHING_IN_ANSWER)


def events(
    answer: Answer, request: ChatRequest, *, model: str, prompt_tokens: int
) -> Iterator[str]:
    """The same as server-sent events: role, a chunk a token, usage if asked for, `[DONE]`."""
    head = _head("chat.completion.chunk", model)
    first = {"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None}
    opening = {"choices": [first | {"finish_reason": None}]}
    yield _event(head | opening | {"prompt_token_ids": None, "prompt_text": None})
    for number, token in enumerate(answer.tokens, 1):
        ends = number == len(answer.tokens)
        choice: dict[str, Any] = {
            "index": 0,
            "delta": {"content": token.text},
            "logprobs": _log_probs((token,), request),
            "finish_reason": answer.finish_reason if ends else None,
            **({"stop_reason": answer.stop_reason} if ends else {}),
            "token_ids": None,
        }
        yield _event(head | {"choices": [choice]})
    if request.stream_options is not None and request.stream_options.include_usage:
        usage = {"choices": [], "usage": _usage(answer, prompt_tokens)}
        yield _event(head | usage | {"system_fingerprint": FINGERPRINT})
    yield "data: [DONE]\n\n"


def model_list(base: str, adapters: list[str]) -> dict[str, Any]:
    """`adapters` by their full names. `root` is the name: paths of the server are nobody's."""
    cards = [_card(base, parent=None, length=MAX_MODEL_LEN)]
    cards += [_card(name, parent=base, length=None) for name in adapters]
    return {"object": "list", "data": cards}


def _head(kind: str, model: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{secrets.token_hex(8)}",
        "object": kind,
        "created": int(time.time()),
        "model": model,
    }


def _usage(answer: Answer, prompt_tokens: int) -> dict[str, Any]:
    count = len(answer.tokens)
    return {
        "prompt_tokens": prompt_tokens,
        "total_tokens": prompt_tokens + count,
        "completion_tokens": count,
    }


def _log_probs(tokens: tuple[Token, ...], request: ChatRequest) -> dict[str, Any] | None:
    if not request.logprobs:
        return None
    content = [
        _log_prob(token.name, token.log_prob)
        | {"top_logprobs": [_log_prob(*each) for each in token.others[: request.top_logprobs]]}
        for token in tokens
    ]
    return {"content": content}


def _log_prob(name: str, value: float) -> dict[str, Any]:
    return {"token": name, "logprob": value, "bytes": list(name.encode())}


def _event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, separators=(',', ':'))}\n\n"


def _card(name: str, *, parent: str | None, length: int | None) -> dict[str, Any]:
    created = int(time.time())
    permission = {
        "id": f"modelperm-{secrets.token_hex(8)}",
        "object": "model_permission",
        "created": created,
        "allow_create_engine": False,
        "allow_sampling": True,
        "allow_logprobs": True,
        "allow_search_indices": False,
        "allow_view": True,
        "allow_fine_tuning": False,
        "organization": "*",
        "group": None,
        "is_blocking": False,
    }
    return {
        "id": name,
        "object": "model",
        "created": created,
        "owned_by": "skydeck",
        "root": name,
        "parent": parent,
        "max_model_len": length,
        "permission": [permission],
    }
