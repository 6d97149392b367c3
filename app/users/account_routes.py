"""One's own account: password, browsers that are signed in, API tokens."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import Form, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.access.permissions import Scope
from app.clock import utcnow
from app.db import Database
from app.errors import Forbidden, Invalid, NotFound, SkydeckError
from app.models import UserSession
from app.routing import Router
from app.settings import Settings
from app.users import forms, service
from app.users.contexts import SessionRow, SettingsPage, TokenRow
from app.users.devices import device_words
from app.users.routes import Field, signed_in
from app.web.deps import Config, SignedIn, Store, Viewer, device_of
from app.web.filters import sentence
from app.web.flash import flash
from app.web.session_cookie import take_session
from app.web.templating import page

router = Router()
_PAGE = "users/settings.html"
_PATH = "/settings"


@router.get(_PATH)
async def settings(
    request: Request, store: Store, config: Config, viewer: SignedIn
) -> HTMLResponse:
    return page(request, _PAGE, await _context(store, config, viewer))


@router.post("/settings/password")
async def change_password(
    request: Request,
    store: Store,
    config: Config,
    viewer: SignedIn,
    present: Field = "",
    password: Field = "",
    repeat: Field = "",
) -> Response:
    """Signs every browser out but this one, which gets a new session."""
    try:
        forms.check_new_password(password, repeat, viewer.name)
        secret = await service.change_password(
            store,
            viewer.user,
            present=present,
            new=password,
            device=device_of(request),
            session_days=config.session_days,
        )
    except Invalid as error:
        context = await _context(store, config, viewer, faults=forms.problems_of(error))
        return page(request, _PAGE, context, status=422)
    return signed_in(request, secret, days=config.session_days, path=_PATH, said="password-set")


@router.post("/settings/sessions/{session_id}/revoke")
async def revoke_session(
    request: Request, session_id: str, store: Store, viewer: SignedIn
) -> Response:
    async with store.write() as session:
        await service.revoke_session(session, viewer.user, session_id, actor=viewer.principal.actor)
    if session_id == viewer.session_slug:
        return take_session(request, flash(RedirectResponse("/sign-in", 303), "signed-out"))
    return flash(RedirectResponse(_PATH, 303), "session-ended")


@router.post("/settings/sessions/revoke-others")
async def revoke_other_sessions(store: Store, viewer: SignedIn) -> Response:
    async with store.write() as session:
        await service.end_other_sessions(
            session, viewer.user, but=viewer.session_slug, actor=viewer.principal.actor
        )
    return flash(RedirectResponse(_PATH, 303), "sessions-ended")


@router.post("/settings/tokens")
async def create_token(
    request: Request,
    store: Store,
    config: Config,
    viewer: SignedIn,
    name: Field = "",
    scope: Annotated[Scope, Form()] = Scope.WRITE,
    project: Field = forms.EVERYWHERE,
    expiry: Field = forms.Expiry.QUARTER,
    until: Field = "",
) -> HTMLResponse:
    """Makes a token and shows its secret, this once."""
    typed = {"name": name, "scope": scope, "project": project, "expiry": expiry, "until": until}
    try:
        secret = await _make_token(store, viewer, typed)
    except SkydeckError as error:
        faults = _token_faults(error)
        context = await _context(store, config, viewer, typed=typed, token_faults=faults)
        return page(request, _PAGE, context, status=error.status)
    context = await _context(store, config, viewer, secret=secret)
    return page(request, _PAGE, context, status=201)


@router.post("/settings/tokens/{token_id}/revoke")
async def revoke_token(token_id: str, store: Store, viewer: SignedIn) -> Response:
    async with store.write() as session:
        await service.revoke_token(session, token_id, by=viewer.principal)
    return flash(RedirectResponse(_PATH, 303), "token-revoked")


async def _make_token(store: Database, viewer: Viewer, typed: Mapping[str, str]) -> str:
    ends = forms.expires_at(typed["expiry"], typed["until"], utcnow())
    if ends is None and not viewer.is_admin:
        raise Forbidden("tokens without an end are for administrators")
    project = typed["project"]
    async with store.write() as session:
        _, secret = await service.make_token(
            session,
            viewer.principal,
            name=typed["name"].strip(),
            scope=Scope(typed["scope"]),
            project=None if project == forms.EVERYWHERE else project,
            expires_at=ends,
        )
    return secret


def _token_faults(error: SkydeckError) -> dict[str, str]:
    if isinstance(error, Invalid):
        return forms.problems_of(error)
    return {"project" if isinstance(error, NotFound) else "scope": sentence(error.message)}


async def _context(
    store: Database,
    config: Settings,
    viewer: Viewer,
    *,
    faults: Mapping[str, str] | None = None,
    typed: Mapping[str, str] | None = None,
    token_faults: Mapping[str, str] | None = None,
    secret: str = "",
) -> SettingsPage:
    user = viewer.user
    async with store.read() as session:
        sessions = await service.list_sessions(session, user, idle_days=config.session_idle_days)
        tokens = await service.list_tokens_of(session, viewer.principal)
    return SettingsPage(
        user_name=user.name,
        role="Administrator" if user.is_admin else "Member",
        has_password=user.password_hash is not None,
        password_changed_at=user.password_changed_at,
        password_fields=forms.change_fields(
            faults or {}, has_password=user.password_hash is not None
        ),
        sessions=[_session_row(row, viewer.session_slug) for row in sessions],
        tokens=[_token_row(entry) for entry in tokens],
        fields=forms.token_fields(
            typed or {}, token_faults or {}, projects=viewer.projects, may_last=user.is_admin
        ),
        secret=secret,
        is_admin=user.is_admin,
    )


def _session_row(row: UserSession, this: str) -> SessionRow:
    return SessionRow(
        slug=row.slug,
        device=device_words(row.user_agent),
        address=row.address,
        created_at=row.created_at,
        seen_at=row.seen_at,
        expires_at=row.expires_at,
        is_this=row.slug == this,
    )


def _token_row(entry: service.TokenEntry) -> TokenRow:
    token = entry.token
    return TokenRow(
        slug=token.slug,
        name=token.name,
        prefix=token.prefix,
        scope=token.scope,
        project=entry.project or "all",
        owner=entry.user_name or "this machine",
        created_at=token.created_at,
        last_used_at=token.last_used_at,
        expires_at=token.expires_at,
    )
