"""JSON shapes of outgoing hosts."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from app.api.schemas import Answer, Body, Prose
from app.models import AllowedHost
from app.outgoing.rules import AddressVerdict
from app.outgoing.service import ADDRESS_LENGTH, Trial

Address = Annotated[str, StringConstraints(min_length=1, max_length=ADDRESS_LENGTH)]


class HostBody(Body):
    host: Prose = Field(examples=["ray.internal:8265", "*.svc.cluster.local", "10.0.0.0/24"])
    reason: Prose = Field(examples=["the team's Ray cluster"])


class HostAnswer(Answer):
    id: str = Field(examples=["host-4hd8k2mz"])
    host: str = Field(description="A name, a suffix, an address or a network; maybe a port")
    reason: str
    created_by: str
    created_at: datetime

    @classmethod
    def of(cls, row: AllowedHost) -> "HostAnswer":
        return cls(
            id=row.slug,
            host=row.host,
            reason=row.reason,
            created_by=row.created_by,
            created_at=row.created_at,
        )


class CheckBody(Body):
    address: Address = Field(
        examples=["http://ray.internal:8265"], description="Taken as https if it names no scheme"
    )


class AddressAnswer(Answer):
    address: str = Field(examples=["10.0.0.7"])
    kind: str = Field(description="Where the address lies", examples=["private"])
    is_allowed: bool
    allowed_by: str | None = Field(description="The entry of the list that allows it")

    @classmethod
    def of(cls, verdict: AddressVerdict) -> "AddressAnswer":
        return cls(
            address=str(verdict.address),
            kind=verdict.zone,
            is_allowed=verdict.is_open,
            allowed_by=verdict.rule.text if verdict.rule else None,
        )


class CheckAnswer(Answer):
    """What a call would come to; nothing but DNS was asked."""

    target: str | None = Field(description="Host and port, null if the text names none")
    is_allowed: bool
    reason: str | None = Field(description="Why it is refused, and what can be done")
    addresses: list[AddressAnswer]

    @classmethod
    def of(cls, trial: Trial) -> "CheckAnswer":
        return cls(
            target=str(trial.target) if trial.target else None,
            is_allowed=trial.refusal is None,
            reason=trial.refusal.message if trial.refusal else None,
            addresses=[AddressAnswer.of(each) for each in trial.addresses],
        )
