"""Builds the pages about endpoints."""

import json
import shlex
from collections.abc import Mapping

from app.endpoints import service
from app.endpoints.contexts import EndpointPage, EndpointState, ModelRow
from app.llm.dialect import Dialect
from app.models import Endpoint, EndpointKind
from app.web.filters import latency
from app.web.forms import FormField

KEEP, REPLACE, NONE = "keep", "replace", "none"
_DIALECTS = {
    Dialect.VLLM: "vLLM",
    Dialect.RAY: "Ray Serve LLM",
    Dialect.OTHER: "OpenAI-compatible; only the protocol's own sampling values are sent",
    None: "not known yet",
}
_KEY_HELP = "Encrypted at once and never shown again. Leave it empty if the server asks for none."


def state_of(endpoint: Endpoint) -> EndpointState:
    is_embedded = endpoint.kind is EndpointKind.EMBEDDED
    took = endpoint.latency_seconds
    return EndpointState(
        slug=endpoint.slug,
        name=endpoint.name,
        base_url=endpoint.base_url,
        status=endpoint.status,
        since=endpoint.status_since,
        message=endpoint.message,
        latency="" if took is None else latency(took),
        observed_at=endpoint.observed_at,
        is_embedded=is_embedded,
        has_key=is_embedded or endpoint.secret_name is not None,
        model_count=len(endpoint.models),
    )


def endpoint_page(
    endpoint: Endpoint,
    *,
    can_manage: bool,
    values: Mapping[str, str] | None = None,
    problems: Mapping[str, str] | None = None,
) -> EndpointPage:
    """`values` as typed, where they were refused; a key is never given back."""
    models = service.models_of(endpoint)
    shown = {"name": endpoint.name, "base_url": endpoint.base_url} | dict(values or {})
    return EndpointPage(
        state=state_of(endpoint),
        models=[ModelRow(each.id, each.parent or "", each.max_model_len) for each in models],
        dialect=_DIALECTS[endpoint.dialect],
        created_by=endpoint.created_by,
        created_at=endpoint.created_at,
        command=_command(endpoint, models[0].id if models else "MODEL"),
        can_manage=can_manage,
        fields=form_fields(shown, problems or {}, has_key=endpoint.secret_name is not None),
    )


def form_fields(
    values: Mapping[str, str], problems: Mapping[str, str], *, has_key: bool | None = None
) -> list[FormField]:
    """Name, base URL and key; `has_key` None: of a new endpoint. A typed key is not shown again."""
    fields = [
        FormField(
            "name",
            "Name",
            "text",
            values.get("name", ""),
            help="What people choose it by.",
            placeholder="Team's vLLM",
            problem=problems.get("name", ""),
        ),
        FormField(
            "base_url",
            "Base URL",
            "text",
            values.get("base_url", ""),
            help="Of an OpenAI-compatible server, mostly with /v1 at its end. Hosts that are not "
            "public, and plain http, are allowed under Settings, Outgoing hosts.",
            placeholder="https://llm.example.com/v1",
            problem=problems.get("base_url", ""),
        ),
    ]
    if has_key is not None:
        fields.append(_key_choice(values, has_key=has_key))
    key_help = _KEY_HELP if has_key is None else "Only if it is to be replaced."
    if values.get("key"):
        key_help = "A key is never shown again: type it once more."
    return [
        *fields,
        FormField(
            "key",
            "Key" if has_key is None else "New key",
            "password",
            "",
            help=key_help,
            problem=problems.get("key", ""),
        ),
    ]


def _key_choice(values: Mapping[str, str], *, has_key: bool) -> FormField:
    return FormField(
        "key_choice",
        "Stored key",
        "choice",
        values.get("key_choice", KEEP),
        choices=(KEEP, REPLACE, NONE) if has_key else (KEEP, REPLACE),
        labels={
            KEEP: "Keep it" if has_key else "There is none, and none is needed",
            REPLACE: "Replace it by the new key" if has_key else "Set the new key",
            NONE: "Remove it",
        },
    )


def _command(endpoint: Endpoint, model: str) -> str:
    body = {"model": model, "messages": [{"role": "user", "content": "Which way?"}]}
    has_key = endpoint.secret_name is not None or endpoint.kind is EndpointKind.EMBEDDED
    parts = ["curl", shlex.quote(f"{endpoint.base_url}/chat/completions")]
    if has_key:
        parts.append('-H "Authorization: Bearer $KEY"')
    parts += ["-H 'Content-Type: application/json'", "-d", shlex.quote(json.dumps(body))]
    return " ".join(parts)
