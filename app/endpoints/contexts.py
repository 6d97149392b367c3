"""What the pages about endpoints are given."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.web.forms import FormField


@dataclass(frozen=True, slots=True)
class EndpointState:
    """`message` says what is wrong and what to do. `latency` is empty while none was measured."""

    slug: str
    name: str
    base_url: str
    status: str
    since: datetime
    message: str
    latency: str
    observed_at: datetime | None
    is_embedded: bool
    has_key: bool
    model_count: int


@dataclass(frozen=True, slots=True)
class ModelRow:
    """`length` is the model's context in tokens, None where the server does not say."""

    id: str
    parent: str
    length: int | None


@dataclass(frozen=True, slots=True)
class EndpointsPage:
    """`worker_count`: workers alive right now; none means that nothing is looked at."""

    endpoints: Sequence[EndpointState]
    worker_count: int
    can_manage: bool
    fields: Sequence[FormField]


@dataclass(frozen=True, slots=True)
class EndpointPage:
    """`command` is a line of curl that asks the first model; `dialect` is for people."""

    state: EndpointState
    models: Sequence[ModelRow]
    dialect: str
    created_by: str
    created_at: datetime
    command: str
    can_manage: bool
    fields: Sequence[FormField]
