"""What the pages about metrics are given."""

from dataclasses import dataclass

from app.web.chart_board import ChartBoard, ChartPanel


@dataclass(frozen=True, slots=True)
class ChartsPage:
    """Charts of chosen metrics of chosen runs."""

    title: str
    board: ChartBoard
    panel: ChartPanel | None
    """The only one, drawn large; None where there are several."""
