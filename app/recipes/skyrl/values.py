"""Values of SkyRL's keys: written so that they come back the same, and checked by type."""

from typing import Any


def render_override(key: str, value: Any) -> str:
    """`key=value` that SkyRL's parser reads as the same typed value. No shell quoting.

    Raises `ValueError` for a value that no override can express.
    """
    raise NotImplementedError
