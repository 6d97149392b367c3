"""How secrets of 256 random bits are kept: nobody can guess them, so no slow hash is needed."""

import hashlib


def hashed(secret: str) -> str:
    """SHA-256 in hexadecimal: 64 characters."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
