"""Pages that links lead to: a new password after a reset, a new account after an invite."""

from fastapi import Request
from starlette.responses import Response

from app.db import Database
from app.errors import Conflict, Invalid, NotFound, NotSignedIn
from app.models import LinkPurpose
from app.routing import Router
from app.users import forms, service
from app.users.contexts import GonePage, LinkPage
from app.users.passwords import hash_password
from app.users.routes import Field, signed_in
from app.web.deps import Config, Store, device_of, find_viewer
from app.web.filters import sentence
from app.web.session_cookie import read_session
from app.web.templating import page

router = Router()
_GONE = 410
_GONE_PAGE = "users/gone.html"
_RESET_OVER = GonePage(
    happened="This link was used, replaced or is older than 24 hours. No password was changed.",
    to_do="Ask an administrator for a new one.",
)


@router.get("/reset")
async def reset_page(request: Request, store: Store, token: str = "") -> Response:
    name = await _name_of(store, token)
    if name is None:
        return page(request, _GONE_PAGE, _RESET_OVER, status=_GONE)
    return await _reset_form(request, token, name, {})


@router.post("/reset")
async def reset(
    request: Request,
    store: Store,
    config: Config,
    token: Field = "",
    password: Field = "",
    repeat: Field = "",
) -> Response:
    """Sets the password, signs every browser of that user out, and this one in."""
    name = await _name_of(store, token)
    if name is None:
        return page(request, _GONE_PAGE, _RESET_OVER, status=_GONE)
    device, earlier = device_of(request), read_session(request)
    try:
        forms.check_new_password(password, repeat, name)
        hashed = await hash_password(password)
        async with store.write() as session:
            await service.end_session(session, earlier, device=device)
            _, secret = await service.redeem_reset(
                session, token, hashed, device=device, session_days=config.session_days
            )
    except Invalid as error:
        return await _reset_form(request, token, name, forms.problems_of(error))
    except NotSignedIn:
        return page(request, _GONE_PAGE, _RESET_OVER, status=_GONE)
    return signed_in(request, secret, days=config.session_days, said="password-set")


@router.get("/join")
async def join_page(request: Request, store: Store, token: str = "") -> Response:
    try:
        async with store.read() as session:
            entry = await service.find_invite(session, token)
    except (NotFound, Conflict) as error:
        return _no_invite(request, error.message)
    return await _join_form(request, token, entry, "", {})


@router.post("/join")
async def join(
    request: Request,
    store: Store,
    config: Config,
    token: Field = "",
    name: Field = "",
    password: Field = "",
    repeat: Field = "",
) -> Response:
    """Makes the account, and signs this browser in with it."""
    device, earlier = device_of(request), read_session(request)
    try:
        async with store.read() as session:
            entry = await service.find_invite(session, token)
        forms.check_new_account(name, password, repeat)
        hashed = await hash_password(password)
        async with store.write() as session:
            await service.end_session(session, earlier, device=device)
            _, secret = await service.accept_invite(
                session,
                token,
                name=name,
                password_hash=hashed,
                device=device,
                session_days=config.session_days,
            )
    except Invalid as error:
        return await _join_form(request, token, entry, name, forms.problems_of(error))
    except (NotFound, Conflict) as error:
        return _no_invite(request, error.message)
    return signed_in(request, secret, days=config.session_days, said="welcome")


async def _name_of(store: Database, token: str) -> str | None:
    async with store.read() as session:
        found = await service.find_link(session, token)
    if found is None or found[0].purpose is not LinkPurpose.RESET or found[1] is None:
        return None
    return found[1].name


def _no_invite(request: Request, message: str) -> Response:
    happened, _, to_do = message.partition(": ")
    context = GonePage(happened=sentence(happened), to_do=sentence(to_do))
    return page(request, _GONE_PAGE, context, status=_GONE)


async def _reset_form(
    request: Request, token: str, name: str, problems: dict[str, str]
) -> Response:
    viewer = await find_viewer(request)
    context = LinkPage(
        action="/reset",
        token=token,
        next_path="/",
        title="Set a new password",
        lead=f"For {name}. This link works once, and signs out every browser of that account.",
        fields=forms.new_password_fields(problems),
        button="Set password and sign in",
        signed_in_as=viewer.name if viewer else "",
    )
    return page(request, "users/link.html", context, status=422 if problems else 200)


async def _join_form(
    request: Request, token: str, entry: service.InviteEntry, name: str, problems: dict[str, str]
) -> Response:
    viewer = await find_viewer(request)
    place = f" and join {entry.project} as {entry.invite.role}" if entry.project else ""
    context = LinkPage(
        action="/join",
        token=token,
        next_path="/",
        title="Join Skydeck",
        lead=f"{entry.invite.created_by} invites you to make an account{place}. "
        "This link works once.",
        fields=[forms.name_field(name, problems), *forms.new_password_fields(problems)],
        button="Make account and sign in",
        signed_in_as=viewer.name if viewer else "",
    )
    return page(request, "users/link.html", context, status=422 if problems else 200)
