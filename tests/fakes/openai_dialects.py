"""What vLLM 0.32 and Ray Serve LLM 2.60 answer, shape by shape, as recorded of the real ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Json = dict[str, Any]
_CREATED = 1_795_974_722
_NULLS = ("prompt_logprobs", "prompt_token_ids", "prompt_text", "kv_transfer_params", "metrics")


class Dialect(StrEnum):
    VLLM = "vllm"
    RAY = "ray"


@dataclass(frozen=True, slots=True)
class Fault:
    """An answer that is an error."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


def models(
    dialect: Dialect, bases: Sequence[str], adapters: Sequence[tuple[str, str]], window: int
) -> Json:
    """`adapters`: (id, id of its base)."""
    entry = _vllm_model if dialect is Dialect.VLLM else _ray_model
    listed = [entry(base, None, window) for base in bases]
    listed += [entry(name, base, window) for name, base in adapters]
    return {"object": "list", "data": listed}


def completion(model: str, text: str, *, finish: str, prompt_tokens: int) -> Json:
    message = {"role": "assistant", "content": text, "refusal": None, "annotations": None}
    message |= {"audio": None, "function_call": None, "reasoning": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    choice |= {"stop_reason": None, "token_ids": None, "routed_experts": None}
    return {
        "id": "chatcmpl-996746238c2f66b3",
        "object": "chat.completion",
        "created": _CREATED,
        "model": model,
        "choices": [choice],
        "service_tier": None,
        "system_fingerprint": "vllm-0.32.0-bdf177a9",
        "usage": usage(text, prompt_tokens)
        | {"prompt_tokens_details": None, "completion_tokens_details": None},
        **dict.fromkeys(_NULLS),
    }


def chunks(
    model: str, text: str, *, finish: str, prompt_tokens: int, has_usage: bool = True
) -> Iterator[Json]:
    """First the role, then a piece each, the finish reason with the last; the usage by itself."""
    yield _chunk(model, {"role": "assistant", "content": ""})
    width = max(8, len(text) // 1_000)
    pieces = [text[at : at + width] for at in range(0, len(text), width)] or [""]
    for piece in pieces[:-1]:
        yield _chunk(model, {"content": piece})
    yield _chunk(model, {"content": pieces[-1]}, finish)
    if has_usage:
        yield _chunk(model, None) | {"usage": usage(text, prompt_tokens)}


def usage(text: str, prompt_tokens: int) -> Json:
    count = max(1, len(text) // 4)
    total = prompt_tokens + count
    return {"prompt_tokens": prompt_tokens, "total_tokens": total, "completion_tokens": count}


def bad_request(dialect: Dialect, message: str, param: str | None = None) -> Fault:
    """What vLLM itself refuses; Ray wraps it."""
    if dialect is Dialect.VLLM:
        return Fault(400, error(message, "BadRequestError", param, 400))
    wrapped = (
        f"Message: {message} (Request ID: 007a6c1e), Internal exception: "
        "ray.llm._internal.serve.core.ingress.ingress.OpenAIHTTPException (Request ID: 007a6c1e), "
        "original exception: "
    )
    return Fault(400, error(wrapped, "OpenAIHTTPException", None, 400))


def invalid(dialect: Dialect, place: Sequence[str], kind: str, message: str) -> Fault:
    """A body that is not as the protocol says."""
    if dialect is Dialect.RAY:
        text = f"Invalid request format: {message} at {tuple(place)}"
        return Fault(400, error(text, kind, {"model": "visgym-qwen3vl"}, "invalid_parameter"))
    where = ".".join(place)
    text = f"1 validation error:\n  {{'type': '{kind}', 'loc': '{where}', 'msg': '{message}'}}"
    return Fault(400, error(text, "Bad Request", where, 400))


def unknown_model(dialect: Dialect, model: str, bases: Sequence[str]) -> Fault:
    if dialect is Dialect.VLLM:
        text = f"The model `{model}` does not exist. Valid aliases: {', '.join(bases)}."
        return Fault(404, error(text, "NotFoundError", "model", 404))
    base, _, adapter = model.partition(":")
    if adapter and base in bases:
        return Fault(
            404,
            {
                "detail": 'Unable to find LoRA adapter config file "adapter_config.json" in folder '
                f"s3://visgym/loras/{adapter}. Check that the file exists and that you have read "
                "permissions."
            },
        )
    return Fault(
        404,
        {"detail": f'Got request for model "{model}". Could not find base model with ID "{base}".'},
    )


def unauthorized(dialect: Dialect) -> Fault:
    """Ray Serve LLM has no keys: there a proxy before it asks for one."""
    return Fault(401, {"error" if dialect is Dialect.VLLM else "detail": "Unauthorized"})


def error(message: str, kind: str, param: Any, code: Any) -> Json:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _chunk(model: str, delta: Json | None, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {
        "id": "chatcmpl-92f2e27ddb47032e",
        "object": "chat.completion.chunk",
        "created": _CREATED,
        "model": model,
        "choices": [] if delta is None else [choice],
    }


def _vllm_model(name: str, parent: str | None, window: int) -> Json:
    return {
        "id": name,
        "object": "model",
        "created": _CREATED,
        "owned_by": "vllm",
        "root": f"PATH/{name.rpartition(':')[2]}",
        "parent": parent,
        "max_model_len": None if parent else window,
        "permission": [],
    }


def _ray_model(name: str, parent: str | None, _window: int) -> Json:
    metadata = {"model_id": name, "input_modality": "text", "max_request_context_length": None}
    if parent:
        bucket = f"s3://visgym/loras/{name.rpartition(':')[2]}"
        metadata |= {"base_model_id": parent, "bucket_uri": bucket}
    return {
        "id": name,
        "object": "model",
        "owned_by": "organization-owner",
        "permission": [],
        "metadata": metadata,
    }
