"""Names that people give to projects, experiments and runs."""

from app.errors import Invalid, Problem

MAX_NAME = 200


def checked_name(name: str) -> str:
    """The name without outer blanks. Raises `Invalid` if it is empty, too long or not text."""
    cleaned = name.strip()
    if not cleaned or len(cleaned) > MAX_NAME or not cleaned.isprintable():
        message = f"a name has 1 to {MAX_NAME} printable characters on one line"
        raise Invalid(message, [Problem("name", "name", message)])
    return cleaned
