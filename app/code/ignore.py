"""Which files stay behind, by patterns as in `.gitignore`. Pure."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING

from app.errors import Invalid

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


def patterns(lines: Iterable[str]) -> "GitIgnoreSpec":
    """Raises `Invalid` for a line that is no pattern."""
    # Loaded, with the engine of its patterns, where code is packed.
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore import GitIgnorePatternError

    try:
        return GitIgnoreSpec.from_lines(lines)
    except (GitIgnorePatternError, ValueError) as error:
        raise Invalid(f"{error}") from None


def matcher(lines: Iterable[str]) -> Callable[[str], bool]:
    """Whether a path of a file stays behind, or lies in a folder that does.

    A folder ends with `/`. As for git, no later pattern takes a file back from such a folder.
    Raises `Invalid` for a line that is no pattern.
    """
    spec = patterns(lines)

    @cache
    def is_left_out(path: str) -> bool:
        parent, _, _ = path.removesuffix("/").rpartition("/")
        return (bool(parent) and is_left_out(f"{parent}/")) or spec.match_file(path)

    return is_left_out
