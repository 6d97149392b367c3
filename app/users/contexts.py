"""What the pages of sign-in and settings are given."""

from dataclasses import dataclass
from datetime import datetime

from app.web.forms import FormField


@dataclass(frozen=True, slots=True)
class SignInPage:
    """How to get a link; `problem` says why the last one did not work."""

    problem: str
    is_first_time: bool
    """Whether no administrator exists, so that the service's start prints a link."""


@dataclass(frozen=True, slots=True)
class SignInLinkPage:
    """A button that redeems the link, so that a preview of the link does not use it up."""

    token: str
    next_path: str


@dataclass(frozen=True, slots=True)
class TokenRow:
    """An API token without its secret; `prefix` is how it begins."""

    slug: str
    name: str
    prefix: str
    scope: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class SettingsPage:
    """`secret` is a token just made, shown once; empty otherwise."""

    user_name: str
    role: str
    tokens: list[TokenRow]
    fields: list[FormField]
    secret: str
    can_make_tokens: bool
