"""Finds secret values in text and replaces them by `***NAME***`. Pure; knows no database.

A value is found as it is, and in the forms that programs print it in: escaped as JSON, Python or a
shell does, in the percent-encoding of URLs, for HTML, in base64 (also inside of a longer text, such
as a header of basic authentication), in hexadecimal; of a value of several lines also each line.
"""

import base64
import html
import json
import shlex
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, quote_plus

import numpy as np
import numpy.typing as npt

MIN_LENGTH = 8
"""Bytes of the shortest form that is looked for: what is shorter stands in harmless text, too."""

# Columns after which programs break base64 (PEM, MIME).
_WRAPS = (64, 76)
_PAIRS = range(0, MIN_LENGTH, 2)
_ALL_PAIRS = 1 << 16
_FEW = 4
# Forms by their first bytes, and of those by their lengths, the longest first: lines of one value
# may well begin alike, and are then told apart by one look-up.
_ByHead = Mapping[bytes, Sequence[tuple[int, set[bytes]]]]
# Of 256 values; the longest ones have half a megabyte of forms each.
_FORMS_KEPT = 256


@dataclass(frozen=True, slots=True)
class Masked:
    """`data` is what may be shown of the first `consumed` bytes; the others wait for more."""

    data: bytes
    consumed: int


class Masker:
    """Masks some values, given as (name, value). Immutable, and cheap to use many times.

    It looks at all places at once with eight table look-ups a byte, however many values there
    are: 1 MB takes about 10 ms.
    """

    def __init__(self, secrets: Iterable[tuple[str, str]]) -> None:
        names: dict[bytes, str] = {}
        for name, value in secrets:
            for form in forms(value):
                names.setdefault(form, name)
        self._names = names
        self._by_head = _by_head(names)
        self._heads = np.sort(np.frombuffer(b"".join(self._by_head), dtype=np.uint64))
        self._tables = [_table(names, at) for at in _PAIRS] if names else []
        self.longest = max(map(len, names), default=0)
        """Bytes of the longest form."""

    def __bool__(self) -> bool:
        return bool(self._names)

    def text(self, text: str) -> str:
        """The text without any of the values."""
        if not self._names:
            return text
        data = text.encode("utf-8", "surrogatepass")
        masked = self.feed(data, is_end=True).data
        return text if masked == data else masked.decode("utf-8", "surrogatepass")

    def find(self, text: str) -> str | None:
        """The name of the first value that stands in the text."""
        data = text.encode("utf-8", "surrogatepass")
        return next((self._names[form] for _, form in self._found(data)), None)

    def feed(self, data: bytes, *, is_end: bool) -> Masked:
        """Masks the next bytes of a stream.

        Unless `is_end`, a tail that may be the beginning of a value is not consumed: give it again
        with the bytes that follow. The output is the same however the stream is cut, as long as
        each piece consumes something.
        """
        if not self._names:
            return Masked(data, len(data))
        end = len(data) if is_end else self._hold(data)
        parts: list[bytes] = []
        done = 0
        for start, stop, name in self._spans(data):
            if stop > end:
                # What follows may make this place longer, and then it has one mark, not two.
                end = min(start, end)
                break
            parts += [data[done:start], f"***{name}***".encode()]
            done = stop
        parts.append(data[done:end])
        return Masked(b"".join(parts), end)

    def _spans(self, data: bytes) -> Iterator[tuple[int, int, str]]:
        """Places to mask, in order: values that overlap are one place, with the first's name."""
        places = self._candidates(data)
        done = 0
        while done < len(places):
            start = places[done]
            form = self._form_at(data, start)
            done += 1
            if form is not None:
                stop, done = self._reach(data, places, done, start + len(form))
                yield start, stop, self._names[form]

    def _reach(self, data: bytes, places: list[int], done: int, stop: int) -> tuple[int, int]:
        """Where a masked place ends that goes to `stop` at least, and the candidates done then.

        Looks from behind, and only for forms that lead further: in a text that repeats itself a
        form may begin at every sign, and nearly all of them tell nothing new.
        """
        while done < (behind := bisect_left(places, stop, done)):
            for start in reversed(places[done:behind]):
                if start + self.longest <= stop:
                    break
                form = self._form_at(data, start, beyond=stop)
                if form is not None:
                    stop = start + len(form)
            done = behind
        return stop, done

    def _form_at(self, data: bytes, start: int, *, beyond: int = 0) -> bytes | None:
        """The longest form that stands there, unless it ends at `beyond` or before."""
        for length, alike in self._by_head.get(data[start : start + MIN_LENGTH], ()):
            if start + length <= beyond:
                return None
            if len(alike) <= _FEW:
                # Compared in place: most differ early, and cutting out a long text takes long.
                form = next((form for form in alike if data.startswith(form, start)), None)
            else:
                form = data[start : start + length]
            if form in alike:
                return form
        return None

    def _found(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Each place where a form stands, with the longest form that stands there."""
        for start in self._candidates(data):
            form = self._form_at(data, start)
            if form is not None:
                yield start, form

    def _candidates(self, data: bytes) -> list[int]:
        """Places whose next eight bytes are those of a form."""
        count = len(data) - MIN_LENGTH + 1
        if count <= 0 or not self._names:
            return []
        raw = np.frombuffer(data, dtype=np.uint8)
        pairs = raw[:-1].astype(np.uint16) | (raw[1:].astype(np.uint16) << 8)
        places: npt.NDArray[np.intp] = np.flatnonzero(self._tables[0][pairs[:count]])
        for at, table in zip(_PAIRS[1:], self._tables[1:], strict=True):
            places = places[table[pairs[places + at]]]
        heads = np.lib.stride_tricks.sliding_window_view(raw, MIN_LENGTH)[places]
        numbers = heads.view(np.uint64).ravel()
        near = np.searchsorted(self._heads[:-1], numbers)
        found: list[int] = places[self._heads[near] == numbers].tolist()
        return found

    def _hold(self, data: bytes) -> int:
        """Where the first tail begins that more bytes may turn into a form."""
        first = max(0, len(data) - self.longest + 1)
        for start in range(max(first, len(data) - MIN_LENGTH + 1), len(data)):
            tail = data[start:]
            if any(head.startswith(tail) for head in self._by_head):
                first_short = start
                break
        else:
            first_short = len(data)
        for start in self._candidates(data[first:]):
            tail = data[first + start :]
            groups = self._by_head.get(tail[:MIN_LENGTH], ())
            longer = (alike for length, alike in groups if length > len(tail))
            if any(form.startswith(tail) for alike in longer for form in alike):
                return first + start
        return first_short


@lru_cache(maxsize=_FORMS_KEPT)
def forms(value: str) -> frozenset[bytes]:
    """All byte strings of at least `MIN_LENGTH` that give the value away."""
    lines = value.splitlines()
    texts = {value, *lines, *(line.strip() for line in lines), "\n".join(lines), "\r\n".join(lines)}
    found = {form for text in texts for form in _escaped(text)}
    found |= {form for text in (value, value.strip()) for form in _encoded(text)}
    return frozenset(form for form in found if len(form) >= MIN_LENGTH)


def _escaped(text: str) -> Iterator[bytes]:
    as_json = (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    shown = {
        text,
        *as_json,
        *(json.dumps(each)[1:-1] for each in as_json),
        *(each.replace("/", "\\/") for each in as_json),
        repr(text)[1:-1],
        ascii(text)[1:-1],
        repr(text.encode("utf-8", "replace"))[2:-1],
        shlex.quote(text).strip("'"),
        text.replace("'", "'\\''"),
        quote(text, safe=""),
        quote(text, safe="/"),
        quote_plus(text),
        quote(text, safe="~()*!.'"),
        html.escape(text),
        html.escape(text, quote=False),
        html.escape(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
    }
    shown |= {_lower_percent(each) for each in shown if "%" in each}
    return (each.encode("utf-8", "replace") for each in shown)


def _lower_percent(text: str) -> str:
    head, *parts = text.split("%")
    return head + "".join(f"%{part[:2].lower()}{part[2:]}" for part in parts)


def _encoded(text: str) -> Iterator[bytes]:
    raw = text.encode("utf-8", "replace")
    yield from (raw.hex().encode(), raw.hex().upper().encode())
    for before in range(3):
        # Inside of a longer text its base64 has one of three forms, less the signs at both ends
        # that its neighbours have a part in.
        first, last = -(-8 * before // 6), (8 * (before + len(raw))) // 6
        padded = bytes(before) + raw + bytes(3)
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(padded)[first:last]
    whole = base64.b64encode(raw)
    for width in _WRAPS:
        yield from (whole[at : at + width] for at in range(0, len(whole), width))


def _by_head(names: Iterable[bytes]) -> _ByHead:
    heads: defaultdict[bytes, defaultdict[int, set[bytes]]]
    heads = defaultdict(lambda: defaultdict(set))
    for form in names:
        heads[form[:MIN_LENGTH]][len(form)].add(form)
    return {head: sorted(groups.items(), reverse=True) for head, groups in heads.items()}


def _table(names: Iterable[bytes], at: int) -> npt.NDArray[np.bool_]:
    table = np.zeros(_ALL_PAIRS, dtype=np.bool_)
    for form in names:
        table[form[at] | form[at + 1] << 8] = True
    return table
