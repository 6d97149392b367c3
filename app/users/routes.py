"""Sign-in by link, sign-out, and the settings page with its API tokens."""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.access.permissions import Scope
from app.db import Database
from app.errors import Forbidden, Invalid, NotSignedIn
from app.models import ApiToken
from app.users import service
from app.users.contexts import SettingsPage, SignInLinkPage, SignInPage, TokenRow
from app.web.deps import SESSION_COOKIE, Config, SignedIn, Store, Viewer, find_viewer, safe_next
from app.web.filters import sentence
from app.web.flash import flash
from app.web.forms import FormField
from app.web.templating import page

router = APIRouter()
_DAY_SECONDS = 86_400


@router.get("/sign-in")
async def sign_in_page(
    request: Request,
    store: Store,
    token: str = "",
    next_path: Annotated[str, Query(alias="next")] = "/",
) -> Response:
    """With a link's token: a button that uses it. Without: how to get a link."""
    if token:
        context = SignInLinkPage(token, safe_next(next_path))
        return page(request, "users/sign_in_link.html", context)
    if await find_viewer(request):
        return RedirectResponse(safe_next(next_path), 303)
    return page(request, "users/sign_in.html", await _sign_in_page(store))


@router.post("/sign-in")
async def sign_in(
    request: Request,
    store: Store,
    config: Config,
    token: Annotated[str, Form()],
    next_path: Annotated[str, Form(alias="next")] = "/",
) -> Response:
    try:
        async with store.write() as session:
            _, secret = await service.redeem_link(session, token, session_days=config.session_days)
    except NotSignedIn as error:
        # What the message advises after its colon, the page says better.
        problem = sentence(error.message.partition(":")[0])
        context = await _sign_in_page(store, problem)
        return page(request, "users/sign_in.html", context, status=401)
    response = flash(RedirectResponse(safe_next(next_path), 303), "signed-in")
    response.set_cookie(
        SESSION_COOKIE,
        secret,
        max_age=config.session_days * _DAY_SECONDS,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return response


@router.post("/sign-out")
async def sign_out(request: Request, store: Store) -> Response:
    secret = request.cookies.get(SESSION_COOKIE)
    if secret:
        async with store.write() as session:
            await service.end_session(session, secret)
    response = flash(RedirectResponse("/sign-in", 303), "signed-out")
    response.delete_cookie(SESSION_COOKIE, httponly=True, samesite="lax")
    return response


@router.get("/settings")
async def settings(request: Request, store: Store, viewer: SignedIn) -> HTMLResponse:
    context = await _settings_page(store, viewer, _token_fields("", Scope.WRITE))
    return page(request, "users/settings.html", context)


@router.post("/settings/tokens")
async def create_token(
    request: Request,
    store: Store,
    viewer: SignedIn,
    name: Annotated[str, Form()] = "",
    scope: Annotated[Scope, Form()] = Scope.WRITE,
) -> HTMLResponse:
    """Makes a token and shows its secret, this once."""
    _require_admin(viewer)
    try:
        async with store.write() as session:
            _, secret = await service.create_token(
                session, name=name.strip(), scope=scope, user=viewer.user
            )
    except Invalid as error:
        problem = "; ".join(problem.message for problem in error.problems) or error.message
        fields = _token_fields(name, scope, problem)
        context = await _settings_page(store, viewer, fields)
        return page(request, "users/settings.html", context, status=422)
    context = await _settings_page(store, viewer, _token_fields("", scope), secret)
    return page(request, "users/settings.html", context, status=201)


@router.post("/settings/tokens/{slug}/revoke")
async def revoke_token(slug: str, store: Store, viewer: SignedIn) -> Response:
    _require_admin(viewer)
    async with store.write() as session:
        await service.revoke_token(session, slug)
    return flash(RedirectResponse("/settings", 303), "token-revoked")


async def _sign_in_page(store: Database, problem: str = "") -> SignInPage:
    async with store.read() as session:
        people = await service.list_users(session)
    return SignInPage(problem, is_first_time=not any(user.is_admin for user in people))


async def _settings_page(
    store: Database, viewer: Viewer, fields: list[FormField], secret: str = ""
) -> SettingsPage:
    tokens: list[ApiToken] = []
    if viewer.is_admin:
        async with store.read() as session:
            tokens = await service.list_tokens(session)
    return SettingsPage(
        user_name=viewer.name,
        role="Administrator" if viewer.is_admin else "Member",
        tokens=[_row(token) for token in tokens],
        fields=fields,
        secret=secret,
        can_make_tokens=viewer.is_admin,
    )


def _token_fields(name: str, scope: Scope, problem: str = "") -> list[FormField]:
    return [
        FormField(
            "name",
            "Name",
            "text",
            name,
            help="What will use it, such as “laptop”.",
            problem=problem,
        ),
        FormField(
            "scope",
            "Scope",
            "choice",
            scope.value,
            help="Read sees everything; write launches and stops; admin also manages.",
            choices=[each.value for each in Scope],
        ),
    ]


def _row(token: ApiToken) -> TokenRow:
    return TokenRow(
        slug=token.slug,
        name=token.name,
        prefix=token.prefix,
        scope=token.scope,
        created_at=token.created_at,
        last_used_at=token.last_used_at,
        expires_at=token.expires_at,
    )


def _require_admin(viewer: Viewer) -> None:
    if not viewer.is_admin:
        raise Forbidden("API tokens are made by administrators.")
