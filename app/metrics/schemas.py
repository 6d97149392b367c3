"""JSON shapes of metrics: summaries, series, and answers to pushes."""

from pydantic import Field

from app.api.schemas import Answer
from app.models import MetricSeries


class MetricAnswer(Answer):
    key: str = Field(examples=["eval/all/pass_at_1"])
    last: float | None
    best: float | None
    min: float | None
    max: float | None
    last_step: int | None
    best_step: int | None
    count: int
    non_finite: int

    @classmethod
    def of(cls, series: MetricSeries) -> "MetricAnswer":
        return cls.model_validate(series)


class SeriesAnswer(Answer):
    """Columns of one series, ascending by x, which is the step where `x` is null."""

    run: str
    key: str
    attempt: int = Field(description="The newest one; of a hidden series, that which logged it")
    is_hidden: bool = Field(description="Older points, which a newer attempt hides")
    step: list[int]
    value: list[float | None] = Field(
        description="null where it is not finite; a whole number of 64 bits is exact"
    )
    x: list[float] | None = Field(
        description="x=time: Unix seconds; x=relative: seconds since the run's start; "
        "x=metric:<key>: the metric's value at the step; x=step: null"
    )
    time: list[str] | list[float] | None = Field(
        default=None, description="x=time: RFC 3339; x=relative: as `x`; else null"
    )
    odd: list[tuple[float, str]] = Field(
        description="The values that are not finite: x, and NaN, Infinity or -Infinity"
    )
    missing: int = Field(
        description="Points left out: their time is unknown, or the metric on the x axis has no "
        "finite value at their step"
    )
    resumes: list[tuple[float, int]] = Field(
        description="Where the points of a newer attempt begin: x, and its number"
    )
    sampled: bool = Field(description="Thinned to `max_points`")
    is_new: bool = Field(
        description="Only points after the cursor that was given, to be appended to those; "
        "otherwise they replace them"
    )
    cursor: str


class SeriesListAnswer(Answer):
    series: list[SeriesAnswer]
    cursor: str | None = Field(
        description="For `since`, in place of the cursors of the series; "
        "null: nothing is new, go on with the one that was given"
    )


class AcceptedAnswer(Answer):
    accepted: int = Field(description="How many points were stored", examples=[120])
