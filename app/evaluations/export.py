"""The played episodes of an evaluation as CSV, for spreadsheets and programs."""

import csv
import io
from collections.abc import Sequence

from app.csv_cells import cell
from app.evaluations.results import PlayedItem
from app.models import Evaluation

COLUMNS = (
    "model",
    "endpoint",
    "seed",
    "sample",
    "solved",
    "passed",
    "outcome",
    "turns",
    "reward",
    "episode",
    "message",
)


def csv_of(evaluation: Evaluation, items: Sequence[PlayedItem]) -> str:
    """A line of titles, then one an episode, in order."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for item in items:
        model = evaluation.models[item.model_number]
        writer.writerow(
            [
                cell(model["model"]),
                cell(model["endpoint_name"]),
                item.seed,
                item.sample,
                int(item.is_solved),
                int(item.is_passed),
                item.outcome.value,
                item.turns,
                item.reward,
                item.episode or "",
                cell(item.message),
            ]
        )
    return text.getvalue()
