"""Values are found in every form that programs print them in, however a log is cut."""

import base64
import html
import json
import re
import shlex
import time
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.secrets.masking import Masker, forms
from tests.processor import processor_under

PEM = "-----BEGIN KEY-----\n" + "\n".join(["MIIEpAIBAAKCAQEA7bq" * 3] * 3) + "\n-----END KEY-----\n"
VALUES = {
    "PLAIN": "hf_Zx81kkLmPq",
    "REGEX": r"a.*b+c[d](e)\d$^|{2}",
    "QUOTES": """it's "quoted" `twice`""",
    "UNICODE": "пароль-ключ-ünï",
    "PERCENT": "100%25&a=b c/d?e#f",
    "KEY": PEM,
    "PADDED": "c2VjcmV0LXZhbHVl==",
    "EMOJI": "🔑🔑 two keys 🔑",
}
MASKER = Masker(VALUES.items())
PRINTED: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "repr": repr,
    "ascii": ascii,
    "bytes": lambda value: repr(value.encode()),
    "json": json.dumps,
    "json, unescaped": lambda value: json.dumps(value, ensure_ascii=False),
    "json in json": lambda value: json.dumps(json.dumps({"key": value})),
    "shell": shlex.quote,
    "percent": lambda value: quote(value, safe=""),
    "path": quote,
    "lower percent": lambda value: re.sub(
        "%..", lambda found: found[0].lower(), quote(value, safe="")
    ),
    "form": quote_plus,
    "html": html.escape,
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 for URLs": lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    "basic sign-in": lambda value: base64.b64encode(f"me:{value}".encode()).decode(),
    "hexadecimal": lambda value: value.encode().hex(),
    "carriage returns": lambda value: value.replace("\n", "\r\n"),
    "wrapped base64": lambda value: base64.encodebytes(value.encode()).decode(),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("way", PRINTED)
def test_a_value_is_masked_in_each_form(name: str, way: str) -> None:
    printed = PRINTED[way](VALUES[name])
    masked = MASKER.text(f"token: {printed} and more")
    assert f"***{name}***" in masked
    assert not [form for form in forms(VALUES[name]) if form in masked.encode()]


def test_each_line_of_a_value_is_masked_by_itself() -> None:
    prefixed = "".join(f"(trainer pid=12) {line}\n" for line in PEM.splitlines())
    masked = MASKER.text(prefixed)
    assert masked.count("***KEY***") == len(PEM.splitlines())
    assert "MIIE" not in masked


def test_text_without_a_value_stays_as_it_is() -> None:
    text = "step 12 of 280: \udcff reward 0.5 hf_Zx81kkLmP ***PLAIN***"
    assert MASKER.text(text) == text
    assert Masker([]).text(text) == text


def test_values_that_overlap_leave_nothing_of_either() -> None:
    masker = Masker([("ONE", "abcdefgh"), ("TWO", "efghijkl"), ("ALL", "abcdefghijklmnop")])
    assert masker.text("x abcdefghijkl y") == "x ***ONE*** y"
    assert masker.text("x abcdefghijklmnop y") == "x ***ALL*** y"
    assert masker.text("abcdefghabcdefgh") == "***ONE******ONE***"


def test_the_name_of_a_value_in_a_text_is_found() -> None:
    assert MASKER.find("--token=hf_Zx81kkLmPq") == "PLAIN"
    assert MASKER.find("--token=hf_Zx81kkLmP") is None


_PIECES = st.sampled_from(
    [form for value in VALUES.values() for form in sorted(forms(value))]
    + [b"\n", b" ", b"hf_Zx81", b"a.*b", "пар".encode(), b"MIIEpAIB", b"abcdefgh"]
)


@given(st.lists(_PIECES, max_size=12), st.lists(st.integers(1, 60), min_size=1, max_size=40))
def test_the_output_does_not_depend_on_where_a_log_is_cut(
    pieces: list[bytes], sizes: list[int]
) -> None:
    log = b"".join(pieces)
    whole = MASKER.feed(log, is_end=True)
    assert whole.consumed == len(log)
    assert read_in_pieces(MASKER, log, sizes) == whole.data


@given(st.text("ab", max_size=60), st.lists(st.integers(1, 9), min_size=1))
def test_nor_with_values_that_repeat_themselves(text: str, sizes: list[int]) -> None:
    masker = Masker([("A", "abababab"), ("B", "babaabab"), ("C", "aabbaabbaabb")])
    whole = masker.feed(text.encode(), is_end=True)
    assert read_in_pieces(masker, text.encode(), sizes) == whole.data
    assert not [
        form for value in ("abababab", "babaabab") if (form := value.encode()) in whole.data
    ]


def read_in_pieces(masker: Masker, log: bytes, sizes: list[int]) -> bytes:
    """As a log that grows is read: from the offset that was reached, up to what is there."""
    output, offset, end, turn = b"", 0, 0, 0
    while end < len(log):
        end = min(len(log), end + sizes[turn % len(sizes)])
        turn += 1
        masked = masker.feed(log[offset:end], is_end=False)
        output, offset = output + masked.data, offset + masked.consumed
    return output + masker.feed(log[offset:], is_end=True).data


def test_a_megabyte_takes_milliseconds_of_the_processor() -> None:
    values = [(f"S{i}", f"{i:02d}-{'x7Qm' * 8}-{i * 7919}") for i in range(20)]
    masker = Masker(values)
    line = (
        b"2026-11-29 16:13:00 | INFO | tracking:log:189 - Step 12: 'policy/policy_loss': 0.0123\n"
    )
    data = (line * 12_000)[:1_000_000]
    assert masker.feed(data, is_end=False).data == data
    seconds = min(_timed(masker, data) for _ in range(5))
    assert seconds < 0.05


def _timed(masker: Masker, data: bytes) -> float:
    started = time.process_time()
    masker.feed(data, is_end=False)
    return time.process_time() - started


@pytest.mark.parametrize("unit", ["abcd", "ab", "abcd1234"])
def test_a_log_that_repeats_what_a_value_repeats_takes_no_seconds(unit: str) -> None:
    masker = Masker([("A", (unit * 16_000)[:16_000])])
    data = (unit * 1_000_000)[:1_000_000].encode()
    with processor_under(2):
        assert masker.feed(data, is_end=True).data == b"***A***"


def test_lines_that_begin_alike_take_no_seconds() -> None:
    masker = Masker([("A", "\n".join(f"abcdabcd{number}" for number in range(1_300)))])
    data = b"abcd" * 250_000
    with processor_under(3):
        assert masker.feed(data, is_end=True).data == data


def test_the_forms_of_a_value_are_found_once() -> None:
    value = "a value that nobody else has: " + "x7Qm" * 500
    before = forms.cache_info().misses
    Masker([("A", value)])
    Masker([("B", value), ("C", "another value")])
    assert forms.cache_info().misses <= before + 2
