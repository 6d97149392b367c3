"""How numbers and times are written on pages."""

import math
import re
from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_NAME = re.compile(r"[a-z][a-z0-9]*[._][a-z0-9]")
_BYTE_UNITS = ("kB", "MB", "GB", "TB")


def relative_time(then: datetime, now: datetime) -> str:
    """`just now`, `4 min ago`, `in 2 h`, `3 d ago`."""
    seconds = (now - then).total_seconds()
    size = abs(seconds)
    if size < 10:
        return "just now"
    for unit, length in (("d", _DAY), ("h", _HOUR), ("min", _MINUTE), ("s", 1)):
        if size >= length:
            if seconds > 0:
                return f"{int(size // length)} {unit} ago"
            # A link that was just made for 7 days ends in 7, not in 6.
            return f"in {math.ceil(round(size / length, 1))} {unit}"
    raise AssertionError("unreachable: ten seconds or more fit one of the units")


def exact_time(then: datetime) -> str:
    """`2026-11-29 16:20:03 UTC`."""
    return then.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def iso_time(then: datetime) -> str:
    return then.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def duration(seconds: float) -> str:
    """`0.31 s`, `41 s`, `2 min 5 s`, `3 h 20 min`, `2 d 4 h`."""
    if seconds < 10:
        return f"{_trim(seconds, 2)} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    for unit, length, small, small_length in (
        ("d", _DAY, "h", _HOUR),
        ("h", _HOUR, "min", _MINUTE),
        ("min", _MINUTE, "s", 1),
    ):
        if whole >= length:
            rest = whole % length // small_length
            return f"{whole // length} {unit}" + (f" {rest} {small}" if rest else "")
    raise AssertionError("unreachable: a minute or more fits one of the units")


def latency(seconds: float) -> str:
    """`12 ms`; from one second on as `duration` says it."""
    milliseconds = round(1000 * seconds)
    return f"{milliseconds} ms" if milliseconds < 1000 else duration(seconds)


def file_size(count: int) -> str:
    """`812 B`, `4.1 kB`, `1.2 GB`, in powers of 1,000."""
    if count < 1000:
        return f"{count} B"
    size = count / 1000
    units = iter(_BYTE_UNITS)
    unit = next(units)
    for larger in units:
        if size < 999.95:
            break
        size, unit = size / 1000, larger
    return f"{size:.1f} {unit}"


def sentence(text: str) -> str:
    """`text` with a capital letter in front and a full stop behind; empty stays empty.

    A name of a program, such as `train_batch_size` or `trainer.epochs`, stays as it is.
    """
    is_name = _NAME.match(text) is not None
    whole = text if is_name else text[:1].upper() + text[1:]
    return whole if not whole or whole.endswith((".", "!", "?", "…")) else whole + "."


def percent(share: float) -> str:
    """`96.9 %` of 0.96875."""
    return f"{share * 100:.1f} %"


def number(value: float | None) -> str:
    """Four significant digits, thousands apart; `NaN`, `∞`, `−∞` and a dash for None."""
    if value is None:
        return "–"
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "−")
    if 1e-4 <= abs(value) < 1e6:
        digits = max(0, 3 - math.floor(math.log10(abs(value))))
        return f"{value:,.{digits}f}".replace("-", "−")
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}e{int(exponent)}".replace("-", "−")


def _trim(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
