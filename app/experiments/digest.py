"""What tells configs apart. Pure."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def digest(recipe: str, recipe_version: int, values: Mapping[str, Any]) -> str:
    """SHA-256 (hex) over recipe, its version and the values in sorted order."""
    text = json.dumps([recipe, recipe_version, values], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
