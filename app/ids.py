"""Identifiers: UUIDv7 for tables, short prefixed slugs for pages, URLs and the API."""

import hashlib
import secrets
from uuid import UUID

import uuid_utils

# No vowels and no look-alikes: a slug spells no word and is read aloud without doubt.
_ALPHABET = "23456789bcdfghjkmnpqrstvwxz"
_SLUG_LENGTH = 8


def new_id() -> UUID:
    """A UUIDv7: sorts by the time it was made (RFC 9562 §5.7)."""
    return UUID(int=uuid_utils.uuid7().int)


def new_slug(prefix: str) -> str:
    """A random slug such as `run-7fk2m9qd`; 27**8 = 2.8e11 values per prefix.

    Fits Ray's submission ids and DNS labels: `[a-z0-9-]`.
    """
    return f"{prefix}-" + "".join(secrets.choice(_ALPHABET) for _ in range(_SLUG_LENGTH))


def new_secret() -> str:
    """A URL-safe secret of 256 random bits, for sessions, links and tokens."""
    return secrets.token_urlsafe(32)


def hashed(secret: str) -> str:
    """How such a secret is kept: SHA-256 in hexadecimal, 64 characters.

    Nobody can guess 256 random bits, so no slow hash is needed.
    """
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
