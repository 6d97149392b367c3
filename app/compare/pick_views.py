"""The page on which runs are chosen to be compared."""

from collections.abc import Sequence

from app.compare.asked import LEAST, MOST, Asked
from app.compare.contexts import Found, PickPage
from app.models import Run
from app.web.run_table import colour_of


def pick_page(asked: Asked, words: str, chosen: Sequence[Run], found: Sequence[Run]) -> PickPage:
    """`found` is what the words find; who is chosen already stands above it."""
    taken = {run.slug for run in chosen}
    count = len(chosen)
    problem = ""
    if count > MOST:
        problem = f"{count} runs are chosen, and at most {MOST} can be compared: untick some"
    return PickPage(
        words=words,
        chosen=[_found(run, is_chosen=True) for run in chosen],
        found=[_found(run, is_chosen=False) for run in found if run.slug not in taken],
        kept=[pair for pair in asked.query() if pair[0] != "run"],
        problem=problem,
        back_url=asked.url() if LEAST <= count <= MOST else "",
    )


def _found(run: Run, *, is_chosen: bool) -> Found:
    return Found(
        id=run.slug,
        name=run.name,
        experiment=run.experiment.name,
        status=run.status,
        colour=colour_of(run),
        is_chosen=is_chosen,
    )
