"""The picture of groups: a mean by step with one deviation around it, as plain SVG. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.compare.curves import MeanCurve
from app.compare.pictures import number_axis
from app.metrics.columns import Floats

_WIDTH, _HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 600, 12, 280
Marks = tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class Band:
    """A group's mean as an SVG path, and the area of one deviation around it."""

    title: str
    line: str
    area: str


@dataclass(frozen=True, slots=True)
class Bands:
    """Mean curves by step. Marks are (pixel, text) along each axis."""

    width: int
    height: int
    left: int
    right: int
    bottom: int
    x_marks: Marks
    y_marks: Marks
    bands: tuple[Band, ...]


@dataclass(frozen=True, slots=True)
class _Scale:
    """From values to pixels."""

    low: float
    high: float
    start: int
    end: int

    def __call__(self, values: Floats) -> Floats:
        if self.high <= self.low:
            return values * 0 + (self.start + self.end) / 2
        share = (values - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def marks(self) -> Marks:
        ticks = number_axis("", [self.low, self.high], log=False, few=False).ticks
        length = self.end - self.start
        return tuple((round(self.start + tick.place * length, 1), tick.text) for tick in ticks)


def bands(curves: Sequence[MeanCurve]) -> Bands | None:
    """None without curves."""
    if not curves:
        return None
    lows = [float((each.mean - each.deviation).min()) for each in curves]
    highs = [float((each.mean + each.deviation).max()) for each in curves]
    first = min(float(each.steps[0]) for each in curves)
    last = max(float(each.steps[-1]) for each in curves)
    x, y = _Scale(first, last, _LEFT, _RIGHT), _Scale(min(lows), max(highs), _BOTTOM, _TOP)
    return Bands(
        width=_WIDTH,
        height=_HEIGHT,
        left=_LEFT,
        right=_RIGHT,
        bottom=_BOTTOM,
        x_marks=x.marks(),
        y_marks=y.marks(),
        bands=tuple(_band(each, x, y) for each in curves),
    )


def _band(curve: MeanCurve, x: _Scale, y: _Scale) -> Band:
    across = x(curve.steps)
    upper, lower = y(curve.mean + curve.deviation), y(curve.mean - curve.deviation)
    around = f"M{_path(across, upper)}L{_path(across[::-1], lower[::-1])}Z"
    return Band(curve.label, f"M{_path(across, y(curve.mean))}", around)


def _path(across: Floats, down: Floats) -> str:
    return "L".join(f"{at:.1f} {value:.1f}" for at, value in zip(across, down, strict=True))
