"""A command's log by its own patterns: steps, prefixes, colours, bounds, and cuts at any byte."""

import json
import math
import re
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.logs.parsers.blocks import MetricBlock
from app.logs.parsers.pattern_reader import MAX_KEYS, MAX_SECONDS, PatternReader
from app.logs.parsers.segments import MAX_SEGMENT_BYTES
from app.logs.parsers.skyrl import ParseOutcome, SkyRLConsoleParser
from app.settings import ROOT

PAIRS = r"(?P<key>[\w/@.-]+)[=:] ?(?P<value>[-+.\w%]+)"
NAMED = r"loss=(?P<loss>\S+)"
STEP = r"step=(?P<step>\d+)"
Point = tuple[str, int, float]


def points_of(blocks: Iterable[MetricBlock]) -> list[Point]:
    return [
        (key, block.step, float(value)) for block in blocks for key, value in block.values.items()
    ]


def read(log: str | bytes, *patterns: str) -> list[Point]:
    data = log if isinstance(log, bytes) else log.encode()
    parser = SkyRLConsoleParser(patterns=patterns)
    outcome = parser.feed(data)
    assert outcome.troubles == []
    return points_of([*outcome.blocks, *parser.finish().blocks])


def test_a_line_with_its_step() -> None:
    assert read("step=1 loss=0.5\nstep=2 loss=0.25", PAIRS) == [("loss", 1, 0.5), ("loss", 2, 0.25)]
    assert read("loss=0.5 at step=3", NAMED, STEP) == [("loss", 3, 0.5)]


def test_a_line_without_a_step_has_the_last_one_seen() -> None:
    log = "loss=4\nstep=5\nloss=3\nloss=2\nloss=1 step=6\nstep=x loss=0\n"
    expected = [("loss", 0, 4), ("loss", 5, 3), ("loss", 5, 2), ("loss", 6, 1), ("loss", 6, 0)]
    assert read(log, NAMED, STEP) == expected
    # Nothing tells beforehand that a key will be a step: until then they are counted.
    assert read(log, PAIRS) == [("loss", 1, 4), *expected[1:]]


def test_a_log_without_steps_counts_each_key() -> None:
    log = "{'loss': 0.5, 'lr': 1e-06}\n{'loss': 0.25}\n{'eval_loss': nan}\n"
    found = read(log, r"'(?P<key>[^']+)': '?(?P<value>[^,'}]+)")
    assert found[:3] == [("loss", 1, 0.5), ("lr", 1, 1e-06), ("loss", 2, 0.25)]
    assert found[3][:2] == ("eval_loss", 1)
    assert math.isnan(found[3][2])


def test_a_line_may_hold_several_steps() -> None:
    pattern = r'{"step": (?P<step>\d+), "loss": (?P<loss>[^}]+)}'
    log = '{"step": 1, "loss": 3}{"step": 2, "loss": 2}\n'
    assert read(log, pattern) == [("loss", 1, 3), ("loss", 2, 2)]


@pytest.mark.parametrize(
    "line",
    [
        b"(main pid=7) step=1 loss=0.5",
        b"(Trainer pid=7, ip=10.0.0.2) step=1 loss=0.5",
        b"\x1b[36m(main pid=7)\x1b[0m step=1 loss=0.5",
        b"\x1b[1mstep\x1b[0m=\x1b[32m1\x1b[0m \x1b[31mloss\x1b[0m=0.5\x1b[0m",
        b"step=1 loss=0.5\r",
        b"bar 10%\rstep=1 loss=0.5",
    ],
)
def test_prefixes_and_colours_are_not_in_the_way(line: bytes) -> None:
    assert read(line + b"\n", r"^step=(?P<step>\d+) loss=(?P<loss>\S+)$") == [("loss", 1, 0.5)]


def test_the_examples_of_the_manual_read_what_they_stand_beside() -> None:
    text = (ROOT / "docs" / "recipes.md").read_text()
    table = text.partition("| to read | write |")[2].partition("\n\n")[0]
    examples = [re.findall(r"`([^`]+)`", row) for row in table.splitlines()[2:]]
    assert all(len(example) == 2 for example in examples)
    for line, pattern in examples:
        found = {key: (step, value) for key, step, value in read(line, pattern)}
        step = 7 if "step" in line else 1
        numbers = {key: value for key, (at, value) in found.items() if at == step}
        assert 0.5 in numbers.values(), line
        assert len(numbers) == line.count("0.5") + line.count("1e-06") + line.count("91"), line


def test_bytes_that_are_no_text() -> None:
    assert read(b"\xff\x00 loss=0.5 \xfe\n\xffstep=1\n", NAMED) == [("loss", 1, 0.5)]


def test_of_a_line_without_end_only_the_beginning_counts() -> None:
    line = b"loss=1 " + b"x" * 2**20 + b" loss=2\nloss=3\n"
    assert read(line, NAMED) == [("loss", 1, 1), ("loss", 2, 3)]
    edge = b"x" * (MAX_SEGMENT_BYTES - 6) + b"loss=12345\n"
    assert read(edge, NAMED) == [("loss", 1, 1)]


def test_skyrls_own_blocks_are_read_once_and_as_they_are() -> None:
    header = "2026-11-29 16:12:27.447 | INFO     | skyrl.train.utils.tracking:log:189 - Step 3: \n"
    log = header + "{'loss': '0.5000'}\nstep=4 loss=1\n"
    assert read(log, r"(?P<key>loss)\W+(?P<value>[\d.]+)", STEP) == [
        ("loss", 3, 0.5),
        ("loss", 4, 1.0),
    ]


def test_without_patterns_nothing_is_guessed() -> None:
    assert read("step=1 loss=0.5\n") == []


def test_too_many_names_are_told_once_and_left_out() -> None:
    parser = SkyRLConsoleParser(patterns=[PAIRS])
    log = "".join(f"key{n}=1\n" for n in range(MAX_KEYS + 10)) + "key0=2\n"
    outcome = parser.feed(log.encode())
    assert len(points_of(outcome.blocks)) == MAX_KEYS + 1
    assert points_of(outcome.blocks)[-1] == ("key0", 2, 2.0)
    [message] = outcome.troubles
    assert "more than 1,000 names" in message
    again = SkyRLConsoleParser.from_state(parser.state(), patterns=[PAIRS])
    assert again.feed(b"other=1\n") == ParseOutcome()


def test_patterns_that_take_too_long_are_turned_off_for_the_whole_log() -> None:
    now = 0.0
    reader = PatternReader([NAMED], cpu_time=lambda: now)
    reader.begin_piece()
    now = MAX_SECONDS / 2
    assert points_of(reader.read(b"loss=1")) == [("loss", 1, 1.0)]
    now = MAX_SECONDS + 1
    reader.begin_piece()
    assert points_of(reader.read(b"loss=2")) == [("loss", 2, 2.0)]
    now += MAX_SECONDS + 1
    assert list(reader.read(b"loss=3")) == []
    [message] = reader.take_news()
    assert "turned off" in message
    again = PatternReader([NAMED], json.loads(json.dumps(reader.state())), cpu_time=lambda: now)
    again.begin_piece()
    assert list(again.read(b"loss=4")) == []
    assert again.take_news() == []


def test_a_pattern_that_cannot_be_used_is_told_once() -> None:
    parser = SkyRLConsoleParser(patterns=["(", NAMED])
    outcome = parser.feed(b"loss=1\n")
    assert points_of(outcome.blocks) == [("loss", 1, 1.0)]
    assert "missing )" in outcome.troubles[0]
    assert (
        SkyRLConsoleParser.from_state(parser.state(), patterns=["(", NAMED]).feed(b"\n")
        == ParseOutcome()
    )


PIECES = st.sampled_from(
    [
        *(b"step=1 ", b"step=2\n", b"loss=0.5 ", b"loss=nan\n", b"acc=12% ", b"\n", b"\r", b"\0"),
        *(b"(main pid=7) ", b"\x1b[36m(a pid=9)\x1b[0m ", b"\x1b[1m", b"\xff", b"x" * 9_000),
        *("ü=1,234\n".encode(), b"key=", b"-inf", b"noise"),
    ]
)


@given(st.lists(PIECES, max_size=40), st.lists(st.integers(0, 2_000), max_size=12), st.booleans())
def test_cuts_and_restarts_do_not_matter(
    pieces: list[bytes], cuts: list[int], has_step: bool
) -> None:
    data = b"".join(pieces)
    patterns = [PAIRS, STEP] if has_step else [PAIRS]
    whole = SkyRLConsoleParser(patterns=patterns)
    expected = whole.feed(data)
    parser, blocks = SkyRLConsoleParser(patterns=patterns), list[MetricBlock]()
    for start, end in pairwise([0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]):
        blocks.extend(parser.feed(data[start:end]).blocks)
        state = json.loads(json.dumps(parser.state()))
        parser = SkyRLConsoleParser.from_state(state, patterns=patterns)

    assert repr(blocks) == repr(expected.blocks)  # NaN differs from itself
    assert parser.state() == whole.state()


@given(st.binary(max_size=2_000))
def test_any_bytes_are_survived(data: bytes) -> None:
    parser = SkyRLConsoleParser(patterns=[r"(?P<key>[^=]*)=(?P<value>.*)", r"(?P<a>.)"])
    parser.feed(data)
    parser.finish()

    json.dumps(parser.state())
