"""How a person likes the frame: theme and width of the side bar, kept in cookies."""

from typing import Annotated

from fastapi import Form, Request
from starlette.responses import HTMLResponse, RedirectResponse

from app.errors import NotFound
from app.routing import Router
from app.web.deps import SignedIn, safe_next
from app.web.templating import RAIL_COOKIE, THEME_COOKIE, THEMES, page

router = Router()
_CHOICES = {"theme": (THEME_COOKIE, THEMES), "rail": (RAIL_COOKIE, ("open", "closed"))}
_YEAR_SECONDS = 365 * 86_400


@router.post("/preferences/{name}")
async def set_preference(
    name: str,
    _viewer: SignedIn,
    value: Annotated[str, Form()],
    back: Annotated[str, Form()] = "/",
) -> RedirectResponse:
    cookie, choices = _CHOICES.get(name, ("", ()))
    if value not in choices:
        raise NotFound(f"There is no such choice: {name} {value}.")
    response = RedirectResponse(safe_next(back), 303)
    # Readable by our script, which changes the theme without a reload; it is no secret.
    response.set_cookie(cookie, value, max_age=_YEAR_SECONDS, samesite="lax")
    return response


@router.get("/help/keys")
async def keys(request: Request, _viewer: SignedIn) -> HTMLResponse:
    return page(request, "layouts/keys.html", None)
