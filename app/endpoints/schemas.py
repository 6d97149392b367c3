"""JSON shapes of endpoints."""

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from app.api.schemas import Answer, Body, Line, no_nul
from app.endpoints.service import EndpointModel
from app.endpoints.values import MAX_KEY, MAX_URL
from app.llm.dialect import Dialect
from app.models import Endpoint, EndpointKind, EndpointStatus

Url = Annotated[str, StringConstraints(min_length=1, max_length=MAX_URL), AfterValidator(no_nul)]
Key = Annotated[str, StringConstraints(max_length=MAX_KEY), AfterValidator(no_nul)]


class EndpointAnswer(Answer):
    """`message` says what is wrong and what to do; empty while all is well."""

    id: str = Field(examples=["end-4hd8k2mz"])
    name: str
    base_url: str = Field(description="Empty until the embedded endpoint was reached")
    kind: EndpointKind
    status: EndpointStatus
    status_since: datetime
    message: str
    dialect: Dialect | None
    has_key: bool
    model_count: int
    latency_seconds: float | None = Field(description="Of the last list of models")
    created_by: str
    created_at: datetime
    observed_at: datetime | None

    @classmethod
    def of(cls, endpoint: Endpoint) -> "EndpointAnswer":
        return cls(
            id=endpoint.slug,
            name=endpoint.name,
            base_url=endpoint.base_url,
            kind=endpoint.kind,
            status=endpoint.status,
            status_since=endpoint.status_since,
            message=endpoint.message,
            dialect=endpoint.dialect,
            has_key=endpoint.secret_name is not None or endpoint.kind is EndpointKind.EMBEDDED,
            model_count=len(endpoint.models),
            latency_seconds=endpoint.latency_seconds,
            created_by=endpoint.created_by,
            created_at=endpoint.created_at,
            observed_at=endpoint.observed_at,
        )


class ModelAnswer(Answer):
    """`parent` is the base that an adapter belongs to; `ready`: its endpoint answers."""

    id: str = Field(examples=["maze-base:run-7fk2m9qd-s40"])
    parent: str | None
    ready: bool
    max_model_len: int | None = Field(description="Tokens of its context, where the server says")

    @classmethod
    def of(cls, model: EndpointModel) -> "ModelAnswer":
        return cls(
            id=model.id,
            parent=model.parent,
            ready=model.is_ready,
            max_model_len=model.max_model_len,
        )


class EndpointBody(Body):
    """An OpenAI-compatible server: vLLM, Ray Serve LLM or another."""

    name: Line
    base_url: Url = Field(
        description="What the calls' paths are put behind, such as https://llm.example.com/v1",
        examples=["https://llm.example.com/v1"],
    )
    key: Key = Field(default="", description="Encrypted at once and never shown again")


class EndpointChange(Body):
    """What is left out stays as it is; an empty key takes the key away."""

    name: Line | None = None
    base_url: Url | None = None
    key: Key | None = None
