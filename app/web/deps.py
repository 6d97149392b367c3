"""What routes ask for: the database, the person who is signed in."""

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, Request

from app.access import service as access
from app.access.guard import Guard, origin_of
from app.access.permissions import Permission
from app.access.principal import Principal
from app.db import Database
from app.errors import NotSignedIn
from app.models import User
from app.settings import Settings
from app.users import service as users

SESSION_COOKIE = "skydeck_session"


@dataclass(frozen=True, slots=True)
class Viewer:
    """The person who looks at a page, and their rights."""

    user: User
    principal: Principal

    @property
    def name(self) -> str:
        return self.user.name

    @property
    def is_admin(self) -> bool:
        return self.user.is_admin


def database(request: Request) -> Database:
    found: Database = request.app.state.database
    return found


def settings(request: Request) -> Settings:
    found: Settings = request.app.state.settings
    return found


@dataclass(frozen=True, slots=True)
class PageGuard(Guard):
    """A page's guard, for people with a session cookie."""

    async def __call__(self, request: Request) -> Viewer:
        """Raises `NotSignedIn`, which pages answer with the sign-in page, or as `Guard.admit`."""
        viewer = await find_viewer(request)
        if viewer is None:
            raise NotSignedIn("Sign in to see this page.")
        await self.admit(request, database(request), viewer.principal)
        return viewer


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
    secret = request.cookies.get(SESSION_COOKIE)
    if not secret:
        return None
    async with database(request).read() as session:
        user = await users.find_session(session, secret)
        if user is None:
            return None
        return Viewer(user, await access.of_person(session, user, origin_of(request)))


Store = Annotated[Database, Depends(database)]
Config = Annotated[Settings, Depends(settings)]
SignedIn = Annotated[Viewer, Depends(PageGuard(Permission.ACCOUNT))]
"""One's own account. Pages about anything else name what they need."""
