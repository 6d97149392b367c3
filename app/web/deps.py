"""What routes ask for: the database, the person who is signed in."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Depends, Request

from app.access import service as access
from app.access import uses
from app.access.guard import Guard, origin_of
from app.access.permissions import Permission
from app.access.principal import Principal
from app.access.service import Membership, ObjectKind
from app.clock import utcnow
from app.db import Database
from app.errors import NotSignedIn
from app.models import User
from app.settings import Settings
from app.users import service as users
from app.users.devices import Device
from app.web.session_cookie import SESSION_COOKIE as SESSION_COOKIE
from app.web.session_cookie import read_session


@dataclass(frozen=True, slots=True)
class Viewer:
    """The person who looks at a page, and their rights."""

    user: User
    principal: Principal
    projects: Sequence[Membership]
    """Those that they can see, by name."""
    session_slug: str
    """Names the browser session, as the list of one's sessions does."""

    @property
    def name(self) -> str:
        return self.user.name

    @property
    def is_admin(self) -> bool:
        return self.user.is_admin

    def project_badge(self, project_id: UUID) -> str:
        """The project's name, where the viewer sees several and must tell them apart."""
        return self.project_badges().get(project_id, "")

    def project_badges(self) -> dict[UUID, str]:
        """The names of all projects, where there are several."""
        names = {each.project_id: each.name for each in self.projects}
        return names if len(names) > 1 else {}

    def may(self, permission: Permission, project_id: UUID | None = None) -> bool:
        return self.principal.allows(permission, project_id)


def database(request: Request) -> Database:
    found: Database = request.app.state.database
    return found


def settings(request: Request) -> Settings:
    found: Settings = request.app.state.settings
    return found


@dataclass(frozen=True, slots=True)
class PageGuard(Guard):
    """A page's guard, for people with a session cookie."""

    async def __call__(self, request: Request) -> AsyncIterator[Viewer]:
        """Raises `NotSignedIn`, which pages answer with the sign-in page, or as `check` does."""
        viewer = await find_viewer(request)
        if viewer is None:
            raise NotSignedIn("Sign in to see this page.")
        async with database(request).read() as session:
            refused = await self.refusal(request, session, viewer.principal)
        with self.noting(request, viewer.principal):
            if refused is not None:
                raise refused
            yield viewer

    async def stands(self, request: Request) -> bool:
        """Whether the session and the right still hold, asked of the database again.

        For streams, which would else go on for minutes after somebody was shut out.
        """
        viewer = await _look_up(request)
        if viewer is None:
            return False
        async with database(request).read() as session:
            return await self.refusal(request, session, viewer.principal) is None


def device_of(request: Request) -> Device:
    """The browser that a request comes from."""
    return Device(origin_of(request), request.headers.get("user-agent", ""))


async def find_viewer(request: Request) -> Viewer | None:
    """The signed-in person, or None. Looked up once a request."""
    if not hasattr(request.state, "viewer"):
        request.state.viewer = await _look_up(request)
    viewer: Viewer | None = request.state.viewer
    return viewer


def sign_in_url(request: Request) -> str:
    """The sign-in page, which leads back to the page that was asked for."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    if request.method != "GET" or wanted == "/":
        return "/sign-in"
    return "/sign-in?" + urlencode({"next": wanted})


def safe_next(path: str) -> str:
    """A path of this site to go on to; anything that could lead elsewhere becomes `/`."""
    is_local = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if is_local and path.isprintable() and "\\" not in path else "/"


async def _look_up(request: Request) -> Viewer | None:
    secret = read_session(request)
    if not secret:
        return None
    now, store = utcnow(), database(request)
    async with store.read() as session:
        idle_days = settings(request).session_idle_days
        found = await users.find_session(session, secret, now, idle_days=idle_days)
        if found is None:
            return None
        row, user = found
        projects = await access.memberships_of(session, user)
    if uses.is_due(row.seen_at, now):
        async with store.write() as session:
            await users.touch_session(session, row, device_of(request), now)
    principal = access.of_person(user, projects, origin_of(request))
    return Viewer(user, principal, projects, row.slug)


async def _store(request: Request) -> Database:
    return database(request)


async def _config(request: Request) -> Settings:
    return settings(request)


# Asynchronous, or each call would go through a thread of the pool.
Store = Annotated[Database, Depends(_store)]
Config = Annotated[Settings, Depends(_config)]
SignedIn = Annotated[Viewer, Depends(PageGuard(Permission.ACCOUNT))]
"""One's own account. Pages about anything else name what they need."""
Reader = Annotated[Viewer, Depends(PageGuard(Permission.READ))]
"""Whoever is signed in. A list is narrowed to what they may read."""
Writer = Annotated[Viewer, Depends(PageGuard(Permission.WRITE))]
"""Who may write somewhere. The project that a form names is checked by the route."""
Admin = Annotated[Viewer, Depends(PageGuard(Permission.ADMINISTER))]
READ_RUN = PageGuard(Permission.READ, ObjectKind.RUN)
RunReader = Annotated[Viewer, Depends(READ_RUN)]
RunWriter = Annotated[Viewer, Depends(PageGuard(Permission.WRITE, ObjectKind.RUN))]
ExperimentReader = Annotated[Viewer, Depends(PageGuard(Permission.READ, ObjectKind.EXPERIMENT))]
ExperimentWriter = Annotated[Viewer, Depends(PageGuard(Permission.WRITE, ObjectKind.EXPERIMENT))]
READ_EPISODE = PageGuard(Permission.READ, ObjectKind.EPISODE)
EpisodeReader = Annotated[Viewer, Depends(READ_EPISODE)]
EpisodeWriter = Annotated[Viewer, Depends(PageGuard(Permission.WRITE, ObjectKind.EPISODE))]
SweepReader = Annotated[Viewer, Depends(PageGuard(Permission.READ, ObjectKind.SWEEP))]
SweepWriter = Annotated[Viewer, Depends(PageGuard(Permission.WRITE, ObjectKind.SWEEP))]
CheckpointWriter = Annotated[Viewer, Depends(PageGuard(Permission.WRITE, ObjectKind.CHECKPOINT))]
PromotionReader = Annotated[Viewer, Depends(PageGuard(Permission.READ, ObjectKind.PROMOTION))]
AdapterReader = Annotated[Viewer, Depends(PageGuard(Permission.READ, ObjectKind.ADAPTER))]
AdapterWriter = Annotated[Viewer, Depends(PageGuard(Permission.WRITE, ObjectKind.ADAPTER))]
EvaluationReader = Annotated[Viewer, Depends(PageGuard(Permission.READ, ObjectKind.EVALUATION))]
EvaluationWriter = Annotated[Viewer, Depends(PageGuard(Permission.WRITE, ObjectKind.EVALUATION))]
ProjectReader = Annotated[Viewer, Depends(PageGuard(Permission.READ, ObjectKind.PROJECT))]
ProjectWriter = Annotated[Viewer, Depends(PageGuard(Permission.WRITE, ObjectKind.PROJECT))]
ProjectManager = Annotated[Viewer, Depends(PageGuard(Permission.MANAGE, ObjectKind.PROJECT))]
