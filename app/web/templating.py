"""Renders templates: strict about names, always escaping, with the frame around each page."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from app.clock import utcnow
from app.settings import ROOT
from app.web import filters
from app.web.assets import static_url
from app.web.flash import clear_flash, read_flash
from app.web.htmx import vary
from app.web.markdown import markdown
from app.web.once import form_key
from app.web.project_switch import ProjectSwitch, project_switch, remember, with_project
from app.web.run_table import RunRow

# Two parts a row; a row is some 1.5 kB.
_ROWS_KEPT = 4_000
_OLD_SECONDS = 120.0
THEMES = ("auto", "light", "dark")
THEME_COOKIE = "skydeck_theme"
RAIL_COOKIE = "skydeck_rail"
_KEYS = (
    (("/",), "Search"),
    (("g", "r"), "Go to runs"),
    (("g", "e"), "Go to experiments"),
    (("g", "c"), "Go to compare"),
    (("g", "p"), "Go to the playground"),
    (("g", "a"), "Go to adapters"),
    (("g", "v"), "Go to clusters"),
    (("n",), "New run"),
    (("f",), "Follow the log"),
    (("j", "k"), "Next and previous row"),
    (("x",), "Select a run"),
    (("c",), "Compare the selected runs"),
    (("space",), "Play and pause an episode"),
    (("[", "]"), "Previous and next turn"),
    (("←", "↑", "↓", "→"), "Move in the maze"),
    (("s",), "Stop in the maze"),
    (("?",), "This help"),
    (("esc",), "Close"),
)


@dataclass(frozen=True, slots=True)
class NavItem:
    """A place in the left rail. `key` is its keyboard shortcut."""

    title: str
    url: str
    icon: str
    key: str
    is_of_project: bool = False
    """Whether it is a list of the chosen project."""
    also: tuple[str, ...] = ()
    """Where else it leads: lists that are reached from its own."""
    is_current: bool = False

    def leads_to(self, path: str) -> bool:
        return any(path == url or path.startswith(url + "/") for url in (self.url, *self.also))

    def within(self, project: str) -> str:
        """Its address when a project is chosen."""
        return with_project(self.url, project) if self.is_of_project else self.url


_NAV = (
    NavItem("Runs", "/runs", "runs", "g r", is_of_project=True),
    NavItem("Experiments", "/experiments", "experiments", "g e", is_of_project=True),
    NavItem("Compare", "/compare", "compare", "g c"),
    NavItem("Playground", "/playground", "playground", "g p", is_of_project=True),
    NavItem("Evaluations", "/evaluations", "evaluations", "", is_of_project=True),
    NavItem(
        "Adapters & endpoints",
        "/adapters",
        "adapters",
        "g a",
        is_of_project=True,
        also=("/endpoints", "/promotions"),
    ),
    NavItem("Clusters", "/clusters", "clusters", "g v"),
    NavItem("Settings", "/settings", "settings", ""),
)


@dataclass(frozen=True, slots=True)
class Frame:
    """What the layout around a page shows."""

    path: str
    """Path and query of this page, to come back to."""
    user_name: str
    theme: str
    next_theme: str
    is_rail_closed: bool
    flash: str | None
    nav: list[NavItem]
    switch: ProjectSwitch
    keys: tuple[tuple[tuple[str, ...], str], ...] = _KEYS


def page(
    request: Request,
    template: str,
    context: Any,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **extra: object,
) -> HTMLResponse:
    """Renders `template` with its context as `c` and the frame as `frame`.

    The answer is never kept by a cache: it is one person's.
    """
    around = frame(request)
    text = ENVIRONMENT.get_template(template).render(c=context, frame=around, **extra)
    response = HTMLResponse(text, status, headers={"Cache-Control": "no-store", **(headers or {})})
    clear_flash(request, response)
    if status == HTTPStatus.OK:
        remember(request, response, around.switch.slug)
    vary(response)
    return response


def fragment(request: Request, template: str, context: Any) -> HTMLResponse:
    """Renders a part of a page, without its frame; a waiting flash sentence stays waiting."""
    text = ENVIRONMENT.get_template(template).render(c=context, frame=frame(request))
    response = HTMLResponse(text, headers={"Cache-Control": "no-store"})
    vary(response)
    return response


def frame(request: Request) -> Frame:
    theme = request.cookies.get(THEME_COOKIE, "")
    theme = theme if theme in THEMES else THEMES[0]
    path = request.url.path
    viewer = getattr(request.state, "viewer", None)
    switch = project_switch(request, viewer)
    return Frame(
        path=path + (f"?{request.url.query}" if request.url.query else ""),
        user_name=viewer.name if viewer else "",
        theme=theme,
        next_theme=THEMES[(THEMES.index(theme) + 1) % len(THEMES)],
        is_rail_closed=request.cookies.get(RAIL_COOKIE) == "closed",
        flash=read_flash(request),
        nav=[
            replace(item, url=item.within(switch.slug), is_current=item.leads_to(path))
            for item in _NAV
        ],
        switch=switch,
    )


def words(name: str) -> str:
    """`Waiting retry` of `waiting_retry`."""
    return name.replace("_", " ").replace("-", " ").capitalize()


def to_json(value: object) -> Markup:
    """JSON for `<script type="application/json">`: no `<` can end the element early."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - escaped on the line above


def _relative(then: datetime) -> str:
    return filters.relative_time(then, utcnow())


@lru_cache
def _status_mark(name: str) -> Markup:
    """Rendered once a status: a table has a hundred of them."""
    module: Any = ENVIRONMENT.get_template("macros/ui.html").module
    return Markup(module.status(name))  # noqa: S704


def _row_before(run: RunRow, *, can_select: bool = False) -> Markup:
    """The same whenever it is rendered, but for conditions, which say how long they last."""
    part = "selectable" if can_select else "before"
    return _run_cells(part, run) if run.conditions else _kept_cells(part, run)


def _row_after(run: RunRow) -> Markup:
    now = utcnow()
    if run.ended_at is not None and (now - run.ended_at).total_seconds() > _OLD_SECONDS:
        # "4 min ago" changes once a minute.
        return _old_after(run, int(now.timestamp() / 60))
    return _new_after(run, now)


@lru_cache(maxsize=_ROWS_KEPT)
def _old_after(run: RunRow, _minute: int) -> Markup:
    return _new_after(run, utcnow())


def _new_after(run: RunRow, now: datetime) -> Markup:
    started = filters.relative_time(run.started_at, now) if run.started_at else ""
    return _kept_cells("after", run, started, _taken(run))


def _taken(run: RunRow) -> str:
    seconds = run.seconds_taken(utcnow())
    return "" if seconds is None else filters.duration(seconds)


@lru_cache(maxsize=_ROWS_KEPT)
def _kept_cells(part: str, run: RunRow, *more: str) -> Markup:
    """Tables ask for themselves again every few seconds, and most of their rows stand."""
    return _run_cells(part, run, *more)


def _run_cells(part: str, run: RunRow, *more: str) -> Markup:
    module: Any = ENVIRONMENT.get_template("runs/_row.html").module
    return Markup(getattr(module, part)(run, *more))  # noqa: S704 - by a template


def _clock(then: datetime) -> str:
    return then.astimezone(UTC).strftime("%H:%M")


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(ROOT / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["static"] = static_url
    environment.globals["form_key"] = form_key
    environment.filters |= {
        "relative": _relative,
        "exact": filters.exact_time,
        "iso": filters.iso_time,
        "clock": _clock,
        "duration": filters.duration,
        "file_size": filters.file_size,
        "percent": filters.percent,
        "sentence": filters.sentence,
        "number": filters.number,
        "status_mark": _status_mark,
        "taken": _taken,
        "row_before": _row_before,
        "row_after": _row_after,
        "words": words,
        "json": to_json,
        "markdown": markdown,
    }
    return environment


ENVIRONMENT = _environment()
