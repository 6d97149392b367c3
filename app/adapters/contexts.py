"""What the pages about adapters and promotions are given."""

from dataclasses import dataclass
from datetime import datetime

from app.web.forms import FormField
from app.web.paging import Pager
from app.web.run_table import RateFigure


@dataclass(frozen=True, slots=True)
class AdapterRow:
    """An adapter with its lineage: run → checkpoint → adapter → endpoint."""

    slug: str
    name: str
    status: str
    model: str
    """Its id at the endpoint."""
    place: str
    """What serves it."""
    play_url: str
    """The playground's form with it beside its base; empty where it is not served."""
    evaluate_url: str
    """The form of an evaluation of both; empty where it is not served."""
    run_slug: str
    run_name: str
    project_name: str
    """Empty where all rows are of the same project."""
    step: int
    attempt: int
    config: str
    """Such as `v2`, or the beginning of the digest."""
    config_digest: str
    rate: RateFigure | None
    pass_at_1: float | None
    base: str
    rank: int | None
    size_bytes: int | None
    sha256: str
    created_by: str
    created_at: datetime
    promotion_slug: str


@dataclass(frozen=True, slots=True)
class AdaptersPage:
    """All adapters, or those of one run or project. `live_url` is the same page."""

    rows: list[AdapterRow]
    run_slug: str
    is_live: bool
    pager: Pager


@dataclass(frozen=True, slots=True)
class AdapterPage:
    """One adapter."""

    row: AdapterRow
    can_evaluate: bool
    can_delete: bool


@dataclass(frozen=True, slots=True)
class PromotePage:
    """The form that has a checkpoint promoted. `suggestion` is a free name, where one was taken.

    `model` is the id that requests will name it by under the name in the form; empty where that is
    none.
    """

    action_url: str
    run_slug: str
    run_name: str
    step: int
    rate: RateFigure | None
    path: str
    field: FormField
    model: str
    problem: str
    """What keeps it from being promoted, other than its name; empty if nothing does."""
    suggestion: str


@dataclass(frozen=True, slots=True)
class PromotionFailure:
    """Why it failed, or what its last try met; `hint` says what to do."""

    kind: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class PromotionPage:
    """How far a promotion is. `fraction` is from 0 to 1."""

    slug: str
    row: AdapterRow
    status: str
    words: str
    is_live: bool
    is_listed: bool
    """Whether its endpoint names it already."""
    copied_bytes: int
    total_bytes: int | None
    fraction: float
    failure: PromotionFailure | None
    can_retry: bool
    can_evaluate: bool
    again_url: str
    """Where it is asked for again."""
    asked_by: str
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class DeletePage:
    """Before an adapter is moved aside."""

    row: AdapterRow
    is_served: bool
