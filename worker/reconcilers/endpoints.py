"""Keeps what is shown of an endpoint in line with what it says itself: health, models, latency."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from tenacity.wait import wait_exponential_jitter

from app.db import ReadSession, WriteSession
from app.endpoints.access import EndpointAccess, access_of, open_http
from app.errors import SkydeckError
from app.llm.chat import ModelError, ModelErrorKind
from app.llm.limits import ChatLimits
from app.llm.listing import LISTING, Listing, list_models
from app.models import Endpoint, EndpointKind, EndpointStatus
from app.outgoing.client import RuleSource
from app.waits import seconds_before
from worker.reconciler import Reconciler

Kind = ModelErrorKind
STEADY = timedelta(seconds=30)
"""Between two looks at a registered endpoint that is well; of ours new adapters are awaited."""
EMBEDDED_STEADY = timedelta(seconds=2)
_BACK_OFF = wait_exponential_jitter(multiplier=2, max=300, jitter=2)
_AWAY = frozenset(
    {Kind.UNREACHABLE, Kind.TIMED_OUT, Kind.INTERRUPTED, Kind.RATE_LIMITED, Kind.SERVER_ERROR}
)
_BELOW_V1 = " Most servers answer below /v1: check the end of the address."


@dataclass(frozen=True, slots=True)
class Subject:
    """`access` None: its key cannot be read, and `problem` says why."""

    endpoint_id: UUID
    is_removed: bool
    access: EndpointAccess | None
    problem: ModelError | None = None


@dataclass(frozen=True, slots=True)
class Sighting:
    """What is to be shown. `listing` None: it did not answer as it should; what was known stays."""

    status: EndpointStatus
    message: str = ""
    listing: Listing | None = None
    base_url: str = ""
    retry_after_seconds: float = 0


class EndpointsReconciler(Reconciler[Subject, Sighting]):
    """Reconciles endpoints, by one `GET /models` a look."""

    model = Endpoint

    def __init__(self, rules: RuleSource, *, home: Path, limits: ChatLimits = LISTING) -> None:
        self._rules = rules
        self._home = home
        self._limits = limits

    async def load(self, session: ReadSession, row_id: UUID) -> Subject:
        endpoint = await session.get_one(Endpoint, row_id)
        is_removed = endpoint.removed_at is not None
        try:
            access = None if is_removed else await access_of(session, endpoint)
        except SkydeckError as error:
            return Subject(endpoint.id, is_removed, None, _as_model_error(error))
        return Subject(endpoint.id, is_removed, access)

    async def observe(self, subject: Subject) -> Sighting:
        if subject.access is None:
            return _unwell(subject.problem or ModelError(Kind.UNREACHABLE, ""))
        is_embedded = subject.access.kind is EndpointKind.EMBEDDED
        try:
            http, base_url = open_http(
                subject.access, home=self._home, rules=self._rules, limits=self._limits
            )
        except ModelError as error:
            return (
                Sighting(EndpointStatus.STOPPED, error.message) if is_embedded else _unwell(error)
            )
        async with http:
            try:
                listing = await list_models(http, self._limits)
            except ModelError as error:
                return _unwell(error)
        return Sighting(EndpointStatus.READY, "", listing, base_url)

    async def apply(
        self, session: WriteSession, subject: Subject, observed: Sighting, *, now: datetime
    ) -> datetime | None:
        endpoint = await session.get_one(Endpoint, subject.endpoint_id)
        if subject.is_removed or endpoint.removed_at is not None:
            return None
        if endpoint.status is not observed.status:
            endpoint.status, endpoint.status_since = observed.status, now
        endpoint.message, endpoint.observed_at = observed.message, now
        is_embedded = endpoint.kind is EndpointKind.EMBEDDED
        if observed.listing is None:
            endpoint.failure_count += 1
            if is_embedded:
                return now + EMBEDDED_STEADY
            seconds = max(
                seconds_before(_BACK_OFF, failures=endpoint.failure_count),
                observed.retry_after_seconds,
            )
            return now + timedelta(seconds=seconds)
        _take(endpoint, observed.listing)
        if is_embedded:
            endpoint.base_url = observed.base_url
        return now + (EMBEDDED_STEADY if is_embedded else STEADY)


def _take(endpoint: Endpoint, listing: Listing) -> None:
    endpoint.failure_count = 0
    endpoint.latency_seconds = listing.latency_seconds
    endpoint.dialect = listing.dialect
    endpoint.models = [
        {"id": each.id, "parent": each.parent, "max_model_len": each.max_model_len}
        for each in listing.models
    ]


def _unwell(error: ModelError) -> Sighting:
    status = EndpointStatus.FAILED
    if error.kind is Kind.UNAUTHORIZED:
        status = EndpointStatus.UNAUTHORIZED
    elif error.kind in _AWAY:
        status = EndpointStatus.UNREACHABLE
    hint = _BELOW_V1 if error.kind is Kind.NOT_FOUND else ""
    return Sighting(
        status, error.message + hint, retry_after_seconds=error.retry_after_seconds or 0
    )


def _as_model_error(error: SkydeckError) -> ModelError:
    if isinstance(error, ModelError):
        return error
    return ModelError(Kind.UNAUTHORIZED, error.message)
