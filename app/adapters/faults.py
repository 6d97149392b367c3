"""Why a promotion fails: a stable kind, what is wrong, and what to do. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.adapters.destinations import Destination
from app.checkpoints.exports import BadExport, Export, ExportFault


class PromotionFault(StrEnum):
    """`docs/adapters.md` explains each."""

    FILE_MISSING = "file_missing"
    WEIGHTS_BROKEN = "weights_broken"
    CONFIG_BROKEN = "config_broken"
    RANK_DIFFERS = "rank_differs"
    TOO_LARGE = "too_large"
    RANK_TOO_HIGH = "rank_too_high"
    BASE_DIFFERS = "base_differs"
    UNSUPPORTED = "unsupported"
    SOURCE_GONE = "source_gone"
    SOURCE_CHANGED = "source_changed"
    NAME_TAKEN = "name_taken"
    STORAGE_FULL = "storage_full"
    STORAGE_ERROR = "storage_error"


_ANOTHER = "promote another step of the run"
_HINTS = {
    PromotionFault.FILE_MISSING: _ANOTHER,
    PromotionFault.WEIGHTS_BROKEN: _ANOTHER,
    PromotionFault.CONFIG_BROKEN: _ANOTHER,
    PromotionFault.RANK_DIFFERS: _ANOTHER,
    PromotionFault.TOO_LARGE: "train with a lower rank, or serve it from elsewhere",
    PromotionFault.RANK_TOO_HIGH: "train with a lower rank, or serve it from elsewhere",
    PromotionFault.BASE_DIFFERS: "serve it from an endpoint with the base that it was trained on",
    PromotionFault.UNSUPPORTED: "train plain LoRA, or serve it from elsewhere",
    PromotionFault.SOURCE_GONE: _ANOTHER,
    PromotionFault.SOURCE_CHANGED: "promote it again under another name",
    PromotionFault.NAME_TAKEN: "promote it again under another name",
    PromotionFault.STORAGE_FULL: "make room on the disk of the home folder, then ask again",
    PromotionFault.STORAGE_ERROR: "look at the destination, then ask again",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """`is_final`: trying again would change nothing."""

    kind: PromotionFault
    message: str
    is_final: bool = True

    @property
    def hint(self) -> str:
        return _HINTS[self.kind]

    def as_json(self) -> dict[str, Any]:
        """As a promotion keeps it."""
        return {"kind": self.kind.value, "message": self.message, "hint": self.hint}


def of_export(error: BadExport) -> Failure:
    """What is wrong with the files, before they are compared with anything."""
    return Failure(_OF_EXPORT[error.fault], error.message)


def judge(export: Export, destination: Destination) -> Failure | None:
    """Why the endpoint of the destination could not serve it; None if it can, as far as known."""
    for name, size, most in (
        ("the weights have", export.weights_bytes, destination.max_weights_bytes),
        ("the config has", export.config_bytes, destination.max_config_bytes),
    ):
        if most is not None and size > most:
            message = f"{name} {size:,} bytes, {destination.title} takes {most:,}"
            return Failure(PromotionFault.TOO_LARGE, message)
    if destination.max_rank is not None and export.rank > destination.max_rank:
        message = f"its rank is {export.rank}, {destination.title} takes {destination.max_rank}"
        return Failure(PromotionFault.RANK_TOO_HIGH, message)
    if destination.bases is not None and export.base not in destination.bases:
        message = f"it belongs to the base {export.base[:100]!r}, which is not {destination.model}"
        return Failure(PromotionFault.BASE_DIFFERS, message)
    if export.extras and not destination.takes_extras:
        message = f"it uses {', '.join(export.extras)}, which {destination.title} cannot add"
        return Failure(PromotionFault.UNSUPPORTED, message)
    return None


_OF_EXPORT = {
    ExportFault.FILE_MISSING: PromotionFault.FILE_MISSING,
    ExportFault.WEIGHTS_BROKEN: PromotionFault.WEIGHTS_BROKEN,
    ExportFault.CONFIG_BROKEN: PromotionFault.CONFIG_BROKEN,
    ExportFault.RANK_DIFFERS: PromotionFault.RANK_DIFFERS,
    ExportFault.TOO_LARGE: PromotionFault.TOO_LARGE,
}
