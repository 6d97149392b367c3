"""What the pages about metrics are given."""

from dataclasses import dataclass

from app.web.chart_board import ChartBoard


@dataclass(frozen=True, slots=True)
class ChartsPage:
    """Charts of chosen metrics of chosen runs."""

    title: str
    board: ChartBoard
