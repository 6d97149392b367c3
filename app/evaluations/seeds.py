"""Lists of seeds as people type them: `0-63, 70, 75`. Pure."""

from collections.abc import Iterable, Sequence

MAX_SEEDS = 1_000
LARGEST_SEED = 2**53 - 1
"""What every reader of JSON keeps exactly."""


def parse_seeds(text: str) -> list[int]:
    """The seeds in the order typed; commas, blanks and new lines part them.

    Raises `ValueError` with a sentence for people.
    """
    found: list[int] = []
    for part in text.replace(",", " ").split():
        found += _stretch(part, MAX_SEEDS - len(found))
    return checked_seeds(found)


def checked_seeds(seeds: Iterable[int]) -> list[int]:
    """The same seeds. Raises `ValueError` for none, too many, one twice or one out of bounds."""
    found = list(seeds)
    if not found:
        raise ValueError("give at least one seed, such as 0-63")
    if len(found) > MAX_SEEDS:
        raise ValueError(_too_many())
    if wrong := next((seed for seed in found if not 0 <= seed <= LARGEST_SEED), None):
        raise ValueError(f"a seed is a whole number from 0 to {LARGEST_SEED}, not {wrong}")
    if len(set(found)) < len(found):
        twice = next(seed for seed in found if found.count(seed) > 1)
        raise ValueError(f"seed {twice} is there twice")
    return found


def seeds_text(seeds: Sequence[int]) -> str:
    """The shortest text that `parse_seeds` reads back: `0, 2-3, 5`."""
    parts: list[str] = []
    start = 0
    for place in range(1, len(seeds) + 1):
        if place < len(seeds) and seeds[place] == seeds[place - 1] + 1:
            continue
        first, last = seeds[start], seeds[place - 1]
        parts.append(str(first) if first == last else f"{first}-{last}")
        start = place
    return ", ".join(parts)


def _stretch(part: str, room: int) -> list[int]:
    first, dash, last = part.partition("-")
    ends = [first, last] if dash else [first]
    if not all(each.isascii() and each.isdigit() and len(each) < 17 for each in ends):
        raise ValueError(f"{part[:40]} is no seed and no range such as 0-63")
    low, high = int(ends[0]), int(ends[-1])
    if high < low:
        raise ValueError(f"{part}: the range ends before it begins")
    if high - low >= room:
        raise ValueError(_too_many())
    return list(range(low, high + 1))


def _too_many() -> str:
    return f"an eval set has at most {MAX_SEEDS} seeds"
