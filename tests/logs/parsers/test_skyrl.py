"""Console parser: hostile text, damaged blocks, bounds, and cuts at any byte."""

import json
import math
from datetime import timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.logs.parsers.blocks import MAX_BLOCK_CHARS, MAX_FOREIGN_SEGMENTS
from app.logs.parsers.events import LogEventKind
from app.logs.parsers.segments import MAX_SEGMENT_BYTES
from app.logs.parsers.skyrl import ParseOutcome, SkyRLConsoleParser

RAY = b"\x1b[36m(visgym_entrypoint pid=7)\x1b[0m "
OTHER = b"\x1b[36m(raylet pid=9)\x1b[0m "
PLAIN_HEADER = b"2026-11-29 16:12:27.447 | INFO     | skyrl.train.utils.tracking:log:189 - Step 3: "


def coloured(message: bytes, *, where: bytes = b"skyrl.train.utils.tracking:log:189") -> bytes:
    module, function, line = where.split(b":")
    return (
        b"\x1b[32m2026-11-29 16:12:27.447\x1b[0m | \x1b[1m\x1b[32mINFO    \x1b[0m | "
        b"\x1b[36m%b\x1b[0m:\x1b[36m%b\x1b[0m:\x1b[36m%b\x1b[0m - \x1b[1m\x1b[32m%b"
        % (module, function, line, message)
    )


STARTED = coloured(b"Started: 'step'\x1b[0m", where=b"skyrl.train.trainer:train:342")


def parse(data: bytes) -> ParseOutcome:
    return SkyRLConsoleParser().feed(data)


def values_of(*lines: bytes) -> dict[str, float | int]:
    blocks = parse(PLAIN_HEADER + b"\n" + b"\n".join(lines) + b"\n").blocks
    assert len(blocks) == 1
    return blocks[0].values


def test_values_keep_their_kind() -> None:
    values = values_of(
        b"{'a': '0.2656',",
        b" 'bool': True,",
        b" 'inf': 'inf',",
        b" 'int': 9007199254740993,",
        b" 'list': [1, 2],",
        b" 'minus': '-inf',",
        b" 'nan': 'nan',",
        b" 'none': None,",
        b" 'text': '12 apples',",
        b" 'tiny': '-3.1e-05'}",
    )

    assert math.isnan(values.pop("nan"))
    assert values == {
        "a": 0.2656,
        "bool": 1,
        "inf": math.inf,
        "int": 9007199254740993,
        "minus": -math.inf,
        "tiny": -3.1e-05,
    }
    assert isinstance(values["int"], int)


def test_short_nested_and_empty_dicts() -> None:
    assert values_of(b"{'a': '1.0000', 'b': 2}") == {"a": 1.0, "b": 2}
    assert values_of(b"{'a': {'inner': '1.0',", b"       'z': 2},", b" 'b': 3}") == {"b": 3}
    assert values_of(b"{}") == {}


def test_a_value_that_is_no_literal_costs_only_itself() -> None:
    values = values_of(
        b"{'a': '1.0000',", b" 'b': np.float32(0.5),", b" 'c': <object>,", b" 'd': 4}"
    )

    assert values == {"a": 1.0, "b": 0.5, "d": 4.0}


def test_an_int_beyond_floats_is_dropped() -> None:
    assert values_of(b"{'a': " + b"9" * 400 + b",", b" 'b': 2}") == {"b": 2}


@pytest.mark.parametrize("key", [rb"a\x00b", rb"\ud800", b"k" * 501, b""])
def test_a_key_that_no_column_holds_is_dropped(key: bytes) -> None:
    assert values_of(b"{'" + key + b"': 1,", b" 'b': 2}") == {"b": 2}


def test_times_are_read_in_the_zone_given() -> None:
    zone = timezone(timedelta(hours=2))
    parser = SkyRLConsoleParser(zone=zone)
    block = parser.feed(PLAIN_HEADER + b"\n{'a': 1}\n").blocks[0]

    assert block.time is not None
    assert block.time.utcoffset() == timedelta(hours=2)


def test_metrics_outside_a_block_do_not_count() -> None:
    assert parse(RAY + b" 'eval/all/pass_at_1': '1.0000',\n" + RAY + b"{'a': '1.0000'}\n") == (
        ParseOutcome()
    )


@pytest.mark.parametrize(
    "forged",
    [
        b"\x1b[33m" + PLAIN_HEADER,
        b"He said: " + PLAIN_HEADER,
        PLAIN_HEADER,  # plain, in a stream whose trainer colours
        b"text\r" + PLAIN_HEADER,
        coloured(b"Step 3: ", where=b"skyrl.train.utils.other:log:1"),
        coloured(b"Step 3: ", where=b"httpx._client:log:189"),
        coloured(b"Step 3: and more"),
    ],
)
def test_a_model_cannot_open_a_block(forged: bytes) -> None:
    log = RAY + STARTED + b"\n" + RAY + forged + b"\n" + RAY + b"{'a': '1.0000'}\n"

    assert parse(log).blocks == []


def test_other_sources_neither_add_to_a_block_nor_end_it() -> None:
    log = b"\n".join(
        [
            RAY + coloured(b"Step 3: "),
            OTHER + b"{'stolen': '1.0000'}",
            b"{'stolen': '1.0000'}",
            RAY + b"{'a': '1.0000',",
            OTHER + b" 'stolen': '1.0000'}",
            RAY + coloured(b"HTTP Request", where=b"httpx._client:_send:1"),
            RAY + b" 'b': 2}\x1b[0m",
            b"",
        ]
    )

    assert [block.values for block in parse(log).blocks] == [{"a": 1.0, "b": 2}]


def test_a_header_that_lost_its_prefix_to_a_progress_bar() -> None:
    bar = b"Training Batches Processed:  50%|\xe2\x96\x88  | 2/4 [00:28<00:31, 15.93s/it]"
    dict_line = RAY + b"{'a': 1}\n"
    glued = RAY + b"\r" + bar + b"\x1b[A" + coloured(b"Step 3: ") + b"\n" + dict_line

    for log in (glued, glued.replace(b"\r", b"\n"), bar + PLAIN_HEADER + b"\n{'a': 1}\n"):
        assert [block.values for block in parse(log).blocks] == [{"a": 1}]


def test_the_first_line_decides_whose_block_a_bare_header_opened() -> None:
    opened = RAY + b"\n" + coloured(b"Step 3: ") + b"\n"
    from_task = opened + RAY + b"{'a': 1,\n" + b" 'stolen': 1}\n" + RAY + b" 'b': 2}\n"
    from_driver = opened + b"{'a': 1,\n" + RAY + b" 'stolen': 1}\n" + b" 'b': 2}\n"

    for log in (from_task, from_driver):
        assert [block.values for block in parse(log).blocks] == [{"a": 1, "b": 2}]


def test_a_new_header_replaces_a_block_that_never_ended() -> None:
    log = b"\n".join([PLAIN_HEADER, b"{'a': 1,", PLAIN_HEADER, b"{'b': 2}", b""])

    assert [block.values for block in parse(log).blocks] == [{"b": 2}]


def test_state_stays_bounded() -> None:
    parser = SkyRLConsoleParser()
    parser.feed(PLAIN_HEADER + b"\n{'a': 1,\n")
    for _ in range(100):
        parser.feed(b"x" * 100_000)
    assert len(json.dumps(parser.state())) < 2 * MAX_SEGMENT_BYTES

    parser.feed(b"\n" + b" 'key': '1.0000',\n" * (MAX_BLOCK_CHARS // 16))
    assert parser.state()["block"] is None


def test_a_block_among_endless_foreign_lines_is_given_up() -> None:
    parser = SkyRLConsoleParser()
    parser.feed(PLAIN_HEADER + b"\n{'a': 1,\n" + b"noise\n" * (MAX_FOREIGN_SEGMENTS + 1))

    assert parser.state()["block"] is None
    assert parser.feed(b" 'b': 2}\n").blocks == []
    assert len(parser.feed(PLAIN_HEADER + b"\n{'c': 3}\n").blocks) == 1


def test_last_line_without_line_feed() -> None:
    parser = SkyRLConsoleParser()

    assert parser.feed(PLAIN_HEADER + b"\n{'a': 1}").blocks == []
    assert [block.values for block in parser.finish().blocks] == [{"a": 1}]
    assert parser.finish() == ParseOutcome()


def test_a_path_may_hold_another_step() -> None:
    log = coloured(
        b"Dumped eval data for a to b to /runs/global_step_9/global_step_4_evals/a.jsonl\x1b[0m",
        where=b"skyrl.train.utils.trainer_utils:dump:1",
    )
    event = parse(log + b"\n").events[0]

    assert (event.kind, event.step) == (LogEventKind.EVALUATION_DUMPED, 4)


def test_nul_bytes_do_not_reach_the_database() -> None:
    parser = SkyRLConsoleParser()
    log = coloured(b"Started: 'a\0b'\x1b[0m", where=b"skyrl.t:f:1")
    outcome = parser.feed(b"\x1b[36m(a\0 pid=1)\x1b[0m " + log + b"\n\0")

    assert [event.name for event in outcome.events] == ["ab"]
    assert "\\u0000" not in json.dumps(parser.state())


PIECES = st.sampled_from(
    [
        *(RAY, OTHER, b"\n", b"\r", b"\r\n", b"\0", b"\xff", b"\x1b[A", b"noise", b"}"),
        *(PLAIN_HEADER, coloured(b"Step 4: "), STARTED, b"{'a': '1.0000',", b" 'b': nan}"),
        b"{'c': 2}\x1b[0m",
        b"y" * (MAX_SEGMENT_BYTES + 5),
        RAY + b"{'d': 1,\n",
        RAY + b" 'e': '2.5000'}\n",
    ]
)


@given(st.lists(PIECES, max_size=40), st.lists(st.integers(0, 5_000), max_size=12), st.booleans())
def test_cuts_do_not_matter(pieces: list[bytes], cuts: list[int], resumed: bool) -> None:
    data = b"".join(pieces)
    whole = SkyRLConsoleParser()
    expected = whole.feed(data)
    parser, outcome = SkyRLConsoleParser(), ParseOutcome()
    bounds = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for start, end in pairwise(bounds):
        step = parser.feed(data[start:end])
        outcome.blocks.extend(step.blocks)
        outcome.events.extend(step.events)
        if resumed:
            parser = SkyRLConsoleParser.from_state(json.loads(json.dumps(parser.state())))

    assert repr(outcome) == repr(expected)  # NaN differs from itself
    assert parser.state() == whole.state()


@given(st.binary(max_size=2_000))
def test_any_bytes_are_survived(data: bytes) -> None:
    parser = SkyRLConsoleParser()
    parser.feed(PLAIN_HEADER + b"\n" + data)
    parser.finish()

    json.dumps(parser.state())
