"""Builds what the pages about adapters show, from rows that services return."""

from collections.abc import Sequence
from urllib.parse import urlencode

from app.adapters import destinations
from app.adapters.contexts import (
    AdapterRow,
    PromotePage,
    PromotionFailure,
    PromotionPage,
)
from app.adapters.schemas import fraction_of
from app.adapters.service import OPEN, default_name
from app.metrics.service import EvaluationCount
from app.models import AdapterStatus, Checkpoint, Promotion, PromotionStatus
from app.playground.links import play_url
from app.web.filters import sentence
from app.web.forms import FormField
from app.web.run_table import rate_figure, version_words
from app.web.templating import words

NAME = "adapter_name"


def adapter_row(promotion: Promotion, *, project_name: str = "") -> AdapterRow:
    row = promotion.adapter
    place = destinations.of(row.destination)
    measured, is_ready = row.evaluation, row.status is AdapterStatus.READY
    pair = place.beside_base(row.name)
    return AdapterRow(
        slug=row.slug,
        name=row.name,
        status=row.status,
        model=place.model_id(row.name),
        place=place.title,
        play_url=play_url(models=pair) if is_ready else "",
        evaluate_url=new_evaluation_url(pair) if is_ready else "",
        run_slug=row.run.slug,
        run_name=row.run.name,
        project_name=project_name,
        step=row.step,
        attempt=row.attempt_number,
        config=version_words(row.config) or row.config.digest[:12],
        config_digest=row.config.digest,
        rate=rate_figure(measured["solved"], measured["n"]) if measured else None,
        pass_at_1=measured["passed"] / measured["n"] if measured else None,
        base=row.base,
        rank=row.rank,
        size_bytes=row.size_bytes,
        sha256=row.sha256 or "",
        created_by=row.created_by,
        created_at=row.created_at,
        promotion_slug=promotion.slug,
    )


def promote_page(
    checkpoint: Checkpoint,
    count: EvaluationCount | None,
    *,
    name: str | None = None,
    name_problem: str = "",
    problem: str = "",
    suggestion: str = "",
) -> PromotePage:
    """`name` is what was typed; None: the usual one."""
    run = checkpoint.run
    usual = default_name(run.slug, checkpoint.step)
    field = FormField(
        NAME,
        "Name of the adapter",
        "text",
        usual if name is None else name,
        help="Lower-case letters, digits, - and _. Requests name the model "
        f"{destinations.get(None).model_id('<name>')}. It is used once and for ever: servers "
        "remember adapters by name.",
        problem=sentence(name_problem),
    )
    return PromotePage(
        action_url=f"/checkpoints/{checkpoint.slug}/promote",
        run_slug=run.slug,
        run_name=run.name,
        step=checkpoint.step,
        rate=rate_figure(count.solved, count.n) if count else None,
        path=checkpoint.path,
        field=field,
        model="" if name_problem else destinations.get(None).model_id(name or usual),
        problem=problem,
        suggestion=suggestion,
    )


def promotion_page(promotion: Promotion, *, can_write: bool, is_listed: bool) -> PromotionPage:
    """`is_listed`: whether its endpoint names the adapter."""
    failure = promotion.failure
    is_deleted = promotion.adapter.status is AdapterStatus.DELETED
    is_awaited = promotion.adapter.status is AdapterStatus.READY and not is_listed
    return PromotionPage(
        slug=promotion.slug,
        row=adapter_row(promotion),
        status=promotion.status,
        words=_status_words(promotion, is_awaited=is_awaited),
        is_live=promotion.status in OPEN or is_awaited,
        is_listed=is_listed,
        copied_bytes=promotion.copied_bytes,
        total_bytes=promotion.total_bytes,
        fraction=fraction_of(promotion),
        failure=PromotionFailure(words(failure["kind"]), failure["message"], failure["hint"])
        if failure
        else None,
        can_evaluate=can_write and is_listed,
        can_retry=can_write and promotion.status is PromotionStatus.FAILED and not is_deleted,
        again_url=f"/checkpoints/{promotion.adapter.checkpoint.slug}/promote",
        asked_by=promotion.asked_by,
        created_at=promotion.created_at,
        ended_at=promotion.ended_at,
    )


def new_evaluation_url(models: Sequence[str]) -> str:
    """The form of a new evaluation of `models`, each named by endpoint and model."""
    return f"/evaluations/new?{urlencode([('model', each) for each in models])}"


def _status_words(promotion: Promotion, *, is_awaited: bool) -> str:
    if is_awaited:
        return "Promoted: complete and checked. Its endpoint does not name it yet"
    if promotion.status is PromotionStatus.SUCCEEDED:
        return "Promoted: complete, checked, and served by name"
    if promotion.status is PromotionStatus.FAILED:
        return "Failed: nothing of it can be loaded"
    if promotion.status is PromotionStatus.QUEUED:
        return "Waits for a worker"
    if promotion.failure:
        return f"Try {promotion.tries} did not work; it is tried again by itself"
    return "Being copied" if promotion.total_bytes else "Being checked"
