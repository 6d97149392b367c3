"""The project switch in the top bar: which project the lists show, as links that have URLs.

The address of a list says its project; a cookie only remembers it for the links elsewhere.
"""

from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import Request
from starlette.responses import Response

from app.access.permissions import Permission
from app.web.deps import Viewer

COOKIE = "skydeck_project"
PARAMETER = "project"
_LISTS = ("/runs", "/experiments", "/playground", "/evaluations", "/adapters")
_PLACES = "/projects/"
# A list that goes on further down, or is sorted by what another project lacks, starts anew.
_DROPPED = (PARAMETER, "cursor")
_YEAR_SECONDS = 365 * 86_400
_MOST = 50


@dataclass(frozen=True, slots=True)
class ProjectLink:
    """A project to choose; the one without a slug stands for all."""

    name: str
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class ProjectSwitch:
    """`slug` is the chosen project, empty for all; `name` is what the switch says."""

    slug: str
    name: str
    links: list[ProjectLink]
    can_launch: bool
    """Whether the reader may launch runs anywhere."""
    has_any: bool
    """Whether there is a project that the reader can see, or may make."""
    new_run_url: str

    @property
    def list_url(self) -> str:
        """The runs of the chosen project."""
        return with_project(_LISTS[0], self.slug)


def project_switch(request: Request, viewer: Viewer | None) -> ProjectSwitch:
    """For nobody: an empty one."""
    projects = list(viewer.projects) if viewer else []
    slug = _chosen(request, {each.slug for each in projects})
    links = [ProjectLink("All projects", _url(request, ""), is_current=not slug)]
    links += [
        ProjectLink(each.name, _url(request, each.slug), is_current=each.slug == slug)
        for each in projects[:_MOST]
    ]
    return ProjectSwitch(
        slug=slug,
        name=next((each.name for each in projects if each.slug == slug), "All projects"),
        links=links if len(projects) > 1 else [],
        can_launch=viewer is not None and viewer.may(Permission.WRITE),
        has_any=viewer is not None and (bool(projects) or viewer.is_admin),
        new_run_url=with_project("/runs/new", slug),
    )


def with_project(url: str, slug: str) -> str:
    return f"{url}?{urlencode({PARAMETER: slug})}" if slug else url


def remember(request: Request, response: Response, slug: str) -> None:
    """Keeps what a list's address chose, for the links of pages that are no lists."""
    if request.url.path in _LISTS and request.cookies.get(COOKIE, "") != slug:
        response.set_cookie(COOKIE, slug, max_age=_YEAR_SECONDS, httponly=True, samesite="lax")


def _chosen(request: Request, known: set[str]) -> str:
    given = request.query_params.get(PARAMETER)
    if given is None and request.url.path.startswith(_PLACES):
        given = request.path_params.get("slug")
    if given is None and request.url.path not in _LISTS:
        given = request.cookies.get(COOKIE)
    return given if given in known else ""


def _url(request: Request, slug: str) -> str:
    path = request.url.path
    if path not in _LISTS:
        return with_project(_LISTS[0], slug)
    kept = [(k, v) for k, v in request.query_params.multi_items() if k not in _DROPPED and v]
    query = [(PARAMETER, slug), *kept] if slug else kept
    return f"{path}?{urlencode(query)}" if query else path
