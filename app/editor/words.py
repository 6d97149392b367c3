"""How the editor names keys and values."""

import json
from collections.abc import Mapping
from typing import Any

from app.editor.contexts import ChangeRow
from app.recipes.diff import Change
from app.recipes.model import Field, Recipe
from app.recipes.service import Key

_LONGEST = 200


def shown(value: Any) -> str:
    """A value as its user would write it; cut where it is long."""
    text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def label(fields: Mapping[str, Field], key: str) -> str:
    return fields[key].label if key in fields else key


def change_row(recipe: Recipe, change: Change) -> ChangeRow:
    return ChangeRow(
        key=change.key,
        label=label(recipe.fields(), change.key),
        before="not set" if change.is_new else shown(change.before),
        after="not set" if change.is_gone else shown(change.after),
    )


def hint(key: Key) -> str:
    """Type, default and choices of a key of SkyRL."""
    parts = [key.type]
    if not key.is_required:
        parts.append(f"default {shown(key.default)}")
    if key.choices:
        parts.append("one of " + ", ".join(map(str, key.choices)))
    return " · ".join(parts)
