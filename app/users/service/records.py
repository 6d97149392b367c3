"""What the audit log is told about users, and who changes them from the service's machine."""

from typing import Any

from app.access.principal import Actor
from app.audit.service import Target
from app.models import User

HOST = Actor(name="the service's machine", key="host")
"""Whoever runs commands there: they could write into the database as well."""


def target_of(user: User) -> Target:
    return Target("user", user.name)


def fields_of(user: User) -> dict[str, Any]:
    """What the digests of a user are made of; no secret."""
    return {
        "name": user.name,
        "is_admin": user.is_admin,
        "is_disabled": user.disabled_at is not None,
        "password_changed_at": user.password_changed_at,
    }
