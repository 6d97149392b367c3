"""What the pages of sign-in, of one's own account, and of all users are given."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.web.forms import FormField


@dataclass(frozen=True, slots=True)
class SignInPage:
    """Name and password; `problem` says why the last try, or the last link, did not work."""

    problem: str
    fields: Sequence[FormField]
    next_path: str
    is_first_time: bool
    """Whether no administrator exists, so that the service's start prints a link."""


@dataclass(frozen=True, slots=True)
class LinkPage:
    """A form that redeems a link, so that a preview of the link does not use it up.

    `fields` are empty where a button is enough.
    """

    action: str
    token: str
    next_path: str
    title: str
    lead: str
    fields: Sequence[FormField]
    button: str
    signed_in_as: str
    """Who is signed in in this browser already; empty for nobody."""


@dataclass(frozen=True, slots=True)
class GonePage:
    """A link that opens nothing any more: why, and what to do."""

    happened: str
    to_do: str


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A browser that is signed in: `device` and `address` as it was last seen."""

    slug: str
    device: str
    address: str
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    is_this: bool


@dataclass(frozen=True, slots=True)
class TokenRow:
    """An API token without its secret; `prefix` is how it begins."""

    slug: str
    name: str
    prefix: str
    scope: str
    project: str
    owner: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class SettingsPage:
    """`secret` is a token just made, shown once; empty otherwise."""

    user_name: str
    role: str
    has_password: bool
    password_changed_at: datetime | None
    password_fields: Sequence[FormField]
    sessions: Sequence[SessionRow]
    tokens: Sequence[TokenRow]
    fields: Sequence[FormField]
    secret: str
    is_admin: bool


@dataclass(frozen=True, slots=True)
class UserRow:
    """An account in the list of all."""

    id: str
    name: str
    role: str
    state: str
    created_at: datetime
    seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class InviteRow:
    """An invite without its secret; `state` as in `InviteState`."""

    slug: str
    note: str
    place: str
    created_by: str
    created_at: datetime
    expires_at: datetime
    state: str
    used_by: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class InvitesPart:
    """The card of invites; `link` is one just made, shown once; empty otherwise."""

    action: str
    rows: Sequence[InviteRow]
    fields: Sequence[FormField]
    link: str


@dataclass(frozen=True, slots=True)
class UsersPage:
    """All accounts, and the invites by which more are made."""

    people: Sequence[UserRow]
    invites: InvitesPart


@dataclass(frozen=True, slots=True)
class ProjectInvitesPage:
    """The invites into one project."""

    slug: str
    name: str
    invites: InvitesPart


@dataclass(frozen=True, slots=True)
class UserPage:
    """One account, with what an administrator may do to it; `link` is a reset link just made."""

    user: UserRow
    has_password: bool
    is_admin: bool
    is_disabled: bool
    is_self: bool
    session_count: int
    link: str
