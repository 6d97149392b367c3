"""What addresses ask of series: the same parameters for the API and for pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends, Query

from app.errors import Invalid, Problem
from app.metrics.service import Axis, Look, Window
from app.runs.asked import Asked, AskedRuns

MOST = 100
_FINITE = {"allow_inf_nan": False}

Runs = Annotated[list[str], Query(min_length=1, max_length=MOST, description="Ids of runs")]
Keys = Annotated[list[str], Query(min_length=1, max_length=MOST, description="Metric keys")]


async def look_of(
    x: Annotated[
        str,
        Query(
            max_length=510,
            description="The wanted x axis: `step`, `time`, `relative` or `metric:<key>`",
            examples=["step", "metric:trainer/epoch"],
        ),
    ] = "step",
    start: Annotated[
        float | None,
        Query(
            alias="from",
            description="Only points at or after this place on the x axis, and one before it; "
            "for x=time in Unix seconds",
            **_FINITE,
        ),
    ] = None,
    end: Annotated[
        float | None,
        Query(alias="to", description="Only points up to this place, and one after it", **_FINITE),
    ] = None,
    attempts: Annotated[
        Literal["newest", "all"],
        Query(description="`all` adds the points that a newer attempt hides, as series"),
    ] = "newest",
) -> Look:
    """Raises `Invalid` for an axis that there is none of, and for a window that ends too early."""
    try:
        axis = Axis.parse(x)
    except ValueError:
        message = f"x is step, time, relative or metric:<key>, not {x}"
        raise Invalid(message, [Problem("x", "choices", message)]) from None
    whole = Window()
    try:
        window = Window(whole.start if start is None else start, whole.end if end is None else end)
    except ValueError:
        message = "the window ends before it starts: `to` must not be below `from`"
        raise Invalid(message, [Problem("to", "range", message)]) from None
    return Look(axis, window, has_hidden=attempts == "all")


AskedLook = Annotated[Look, Depends(look_of)]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request asks of series."""

    runs: AskedRuns
    keys: Sequence[str]
    look: Look
    since: Sequence[str]
    max_points: int
    digits: int | None


async def wanted_of(
    run: Runs,
    key: Keys,
    look: AskedLook,
    asked: Asked,
    max_points: Annotated[
        int, Query(ge=4, le=10_000, description="Longer series are thinned to this")
    ] = 1_000,
    digits: Annotated[
        int | None,
        Query(ge=3, le=17, description="Values rounded to so many digits; a chart needs six"),
    ] = None,
    since: Annotated[
        list[str] | None,
        Query(
            max_length=MOST * MOST,
            description="`cursor` of the answer before, or those of its series: only what is new",
        ),
    ] = None,
) -> Wanted:
    """`run` is what `asked` was read from: here it is checked and described."""
    return Wanted(asked, key, look, since or (), max_points, digits)


AskedSeries = Annotated[Wanted, Depends(wanted_of)]
