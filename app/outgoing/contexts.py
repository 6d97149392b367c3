"""What the page of outgoing hosts is given."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.web.forms import FormField


@dataclass(frozen=True, slots=True)
class HostRow:
    """A host that is allowed, who allowed it, and why."""

    slug: str
    host: str
    reason: str
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class AddressRow:
    """An address that a name leads to; `allowed_by` is the entry that opens it, or empty."""

    address: str
    kind: str
    is_allowed: bool
    allowed_by: str


@dataclass(frozen=True, slots=True)
class TrialCard:
    """The verdict on a tried address; `reason` is empty if it would be called."""

    shown: str
    is_allowed: bool
    reason: str
    addresses: Sequence[AddressRow]


@dataclass(frozen=True, slots=True)
class OutgoingPage:
    """`trial` None: nothing was tried."""

    hosts: Sequence[HostRow]
    fields: Sequence[FormField]
    try_field: FormField
    trial: TrialCard | None
