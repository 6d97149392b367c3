"""Words that a reader searches for."""

from typing import Annotated

from pydantic import AfterValidator

MAX_LENGTH = 200


def _cut(text: str) -> str:
    return text[:MAX_LENGTH]


SearchWords = Annotated[str, AfterValidator(_cut)]
"""Cut at what the search boxes take, so that a long pasted text is searched for, not refused."""
