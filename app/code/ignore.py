"""Which files stay behind, by patterns as in `.gitignore`. Pure."""

from collections.abc import Iterable

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError

from app.errors import Invalid


def patterns(lines: Iterable[str]) -> GitIgnoreSpec:
    """Raises `Invalid` for a line that is no pattern."""
    try:
        return GitIgnoreSpec.from_lines(lines)
    except (GitIgnorePatternError, ValueError) as error:
        raise Invalid(f"{error}") from None
