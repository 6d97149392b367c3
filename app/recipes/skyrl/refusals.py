"""Texts `key=value` taken apart, and why one of them has no value, in words; no OmegaConf."""

from app.recipes.model import Finding

_SHOWN = 60


class ReadsEnvironmentError(Exception):
    """`${oc.env:NAME}`: its value would be this machine's, where the job's was meant."""


def split(arg: str) -> tuple[str, str | None]:
    """Key and text at the first `=` that no backslash escapes; text None if there is none."""
    index = 0
    while index < len(arg) and arg[index] != "=":
        index += 2 if arg[index] == "\\" and arg[index + 1 : index + 2] in set(".[]=") else 1
    return (arg[:index], arg[index + 1 :]) if index < len(arg) else (arg, None)


def unresolved(error: Exception) -> Finding:
    """Why an interpolation has no value."""
    key = str(getattr(error, "full_key", None) or "")
    fields = (key,) if key else ()
    if _is_caused_by_environment(error):
        return Finding(
            rule="environment_interpolation",
            fields=fields,
            message=f"{key or 'A value'} is read from an environment variable when the job starts "
            "(oc.env), so it cannot be checked now",
            fix="write the value itself",
        )
    return Finding(
        rule="interpolation",
        fields=fields,
        message=f"{key or 'A value'} refers to something that is not there: {first_line(error)}",
        fix="an interpolation sees only keys that are set as overrides; write the value itself, "
        "or \\${ for a plain text",
    )


def first_line(error: Exception) -> str:
    return shorten((str(error).splitlines() or [type(error).__name__])[0], 4 * _SHOWN)


def shorten(text: str, length: int = _SHOWN) -> str:
    return text if len(text) <= length else f"{text[:length]}…"


def _is_caused_by_environment(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ReadsEnvironmentError) or "ReadsEnvironmentError" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False
