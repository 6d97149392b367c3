"""Sign-in by name and password or by a link, and sign-out."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import Form, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.db import Database
from app.errors import Invalid, NotSignedIn, TooMany
from app.models import LinkPurpose
from app.routing import Router
from app.users import forms, service
from app.users.contexts import LinkPage, SignInPage
from app.users.passwords import hash_password
from app.web.deps import Config, Store, device_of, find_viewer, safe_next
from app.web.filters import sentence
from app.web.flash import flash
from app.web.session_cookie import give_session, read_session, take_session
from app.web.templating import page

router = Router()
NextPath = Annotated[str, Query(alias="next")]
NextField = Annotated[str, Form(alias="next")]
Field = Annotated[str, Form()]
_FIRST_NAME = "admin"
_REFUSED = 401


@router.get("/sign-in")
async def sign_in_page(
    request: Request, store: Store, token: str = "", next_path: NextPath = "/"
) -> Response:
    """With a link's token: a form that uses it. Without: name and password."""
    if token:
        return await _link_page(request, store, token, next_path)
    if await find_viewer(request):
        return RedirectResponse(safe_next(next_path), 303)
    return await _sign_in_page(request, store, next_path=next_path)


@router.post("/sign-in")
async def sign_in(
    request: Request,
    store: Store,
    config: Config,
    name: Field = "",
    password: Field = "",
    next_path: NextField = "/",
) -> Response:
    try:
        _, secret = await service.sign_in_with_password(
            store,
            name,
            password,
            device=device_of(request),
            session_days=config.session_days,
            earlier=read_session(request),
        )
    except NotSignedIn:
        return await _sign_in_page(
            request, store, name=name, next_path=next_path, status=_REFUSED, is_wrong=True
        )
    except TooMany as error:
        answer = await _sign_in_page(
            request,
            store,
            sentence(error.message),
            name=name,
            next_path=next_path,
            status=error.status,
        )
        answer.headers["Retry-After"] = str(error.retry_after_seconds)
        return answer
    return signed_in(request, secret, days=config.session_days, path=safe_next(next_path))


@router.post("/sign-in/link")
async def use_link(
    request: Request,
    store: Store,
    config: Config,
    token: Field = "",
    name: Field = _FIRST_NAME,
    password: Field = "",
    repeat: Field = "",
    next_path: NextField = "/",
) -> Response:
    """A path of its own, so that a flood of passwords cannot keep links from working."""
    device, earlier = device_of(request), read_session(request)
    try:
        hashed = None
        if password or repeat:
            forms.check_new_password(password, repeat, name)
            hashed = await _hash_for(store, token, password)
        async with store.write() as session:
            _, secret = await service.redeem_link(
                session,
                token,
                name,
                password_hash=hashed,
                device=device,
                session_days=config.session_days,
            )
            await service.end_session(session, earlier, device=device)
    except NotSignedIn as error:
        # What the message advises after its colon, the page says better.
        problem = sentence(error.message.partition(":")[0])
        return await _sign_in_page(request, store, problem, status=_REFUSED)
    except Invalid as error:
        return await _link_page(
            request, store, token, next_path, name=name, problems=forms.problems_of(error)
        )
    return signed_in(request, secret, days=config.session_days, path=safe_next(next_path))


@router.post("/sign-out")
async def sign_out(request: Request, store: Store) -> Response:
    secret = read_session(request)
    if secret:
        async with store.write() as session:
            await service.end_session(session, secret, device=device_of(request))
    response = flash(RedirectResponse("/sign-in", 303), "signed-out")
    return take_session(request, response)


def signed_in(
    request: Request, secret: str, *, days: int, path: str = "/", said: str = "signed-in"
) -> Response:
    """Goes on to `path` with the cookie of a new session."""
    return give_session(request, flash(RedirectResponse(path, 303), said), secret, days=days)


async def _link_page(
    request: Request,
    store: Database,
    token: str,
    next_path: str,
    *,
    name: str = _FIRST_NAME,
    problems: dict[str, str] | None = None,
) -> Response:
    async with store.read() as session:
        found = await service.find_link(session, token)
    if found is None:
        problem = "This sign-in link was used or is older than 15 minutes."
        return await _sign_in_page(request, store, problem, status=_REFUSED)
    link, user = found
    if link.purpose is LinkPurpose.RESET:
        return RedirectResponse("/reset?" + urlencode({"token": token}), 303)
    viewer = await find_viewer(request)
    faults = problems or {}
    if user is None:
        lead = "You become the first administrator. This link works once."
        new = forms.new_password_fields(faults, is_optional=True)
        fields = [forms.name_field(name, faults), *new]
    else:
        lead = f"This link works once. It signs this browser in as {user.name}."
        fields = []
    context = LinkPage(
        action="/sign-in/link",
        token=token,
        next_path=safe_next(next_path),
        title="Sign in to Skydeck",
        lead=lead,
        fields=fields,
        button="Sign in",
        signed_in_as=viewer.name if viewer else "",
    )
    return page(request, "users/link.html", context, status=422 if faults else 200)


async def _hash_for(store: Database, token: str, password: str) -> str | None:
    """No hash is made for who has no open link; redeeming will say so."""
    async with store.read() as session:
        is_open = await service.find_link(session, token) is not None
    return await hash_password(password) if is_open else None


async def _sign_in_page(
    request: Request,
    store: Database,
    problem: str = "",
    *,
    name: str = "",
    next_path: str = "/",
    status: int = 200,
    is_wrong: bool = False,
) -> HTMLResponse:
    is_first_time = False
    # Whoever tries passwords need not be told how accounts begin, which takes a query.
    if not is_wrong and status != TooMany.status:
        async with store.read() as session:
            is_first_time = not await service.has_administrator(session)
    context = SignInPage(
        problem=problem,
        fields=forms.sign_in_fields(name, is_refused=is_wrong),
        next_path=safe_next(next_path),
        is_first_time=is_first_time,
    )
    return page(request, "users/sign_in.html", context, status=status)
