"""A copy of a log, made of its last lines, is the log itself or nothing beyond what is sure."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ray.log_copy import FIRST_LINES, LogCopy, join

LONG = b"x" * 3000 + b"\n"
PIECES = st.lists(st.sampled_from([b"a\n", b"a\r", b"step 1\n", b"\xff\n", b"", LONG]), max_size=50)


class Growing:
    """A log that answers as Ray does; `asked` notes how many lines were asked for."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = data
        self.asked: list[int] = []

    async def __call__(self, lines: int) -> bytes:
        self.asked.append(lines)
        rows = self.data.splitlines(keepends=True)
        return b"".join(rows if lines < 0 else rows[-lines:])


@given(known=PIECES, tail=PIECES, new=PIECES, cut=st.integers(0, 50))
def test_what_shares_enough_is_joined_rightly_or_not_at_all(
    known: list[bytes], tail: list[bytes], new: list[bytes], cut: int
) -> None:
    before, added = [*known, LONG, *tail], b"".join(new)
    fetched = b"".join([*before[min(cut, len(known)) :], *new])
    assert join(b"".join(before), fetched) in (None, added)


@given(known=PIECES, new=PIECES)
def test_a_few_lines_are_never_taken_for_known_ones(known: list[bytes], new: list[bytes]) -> None:
    added = b"".join(line for line in new if line != LONG)
    assert join(b"".join(known), added) is None


def test_a_gap_and_a_repeated_line_are_told() -> None:
    rows = b"".join(b"row %d\n" % n for n in range(300))
    assert join(b"one\n" * 1000, b"one\n" * 1000) is None
    assert join(rows, b"three\n" * 500) is None
    assert join(b"", b"three\n" * 500) is None
    assert join(rows, rows + b"three\n") == b"three\n"
    assert join(rows, rows[100:]) == b""
    assert join(rows, rows[100:] + rows * 20) is None


@given(st.lists(st.lists(st.integers(0, 3), max_size=40), max_size=12))
def test_a_copy_of_lines_that_repeat_is_the_log(tmp_path_factory: Any, turns: Any) -> None:
    log = Growing()
    copy = LogCopy(tmp_path_factory.mktemp("copy") / "job.log", lines=20)
    for rows in turns:
        log.data += b"".join(b"%d\n" % row for row in rows)
        asyncio.run(copy.update(log))
        assert not log.data or copy.file.read_bytes() == log.data


async def test_a_growing_log_is_copied_from_its_end(tmp_path: Path) -> None:
    log, copy = Growing(), LogCopy(tmp_path / "x" / "job.log")
    for n in range(30):
        log.data += b"".join(b"step %d row %d\n" % (n, row) for row in range(300))
        await copy.update(log)
        assert copy.file.read_bytes() == log.data
    assert log.asked == [-1] + [FIRST_LINES] * 29


async def test_more_lines_are_asked_for_where_a_log_grows_fast(tmp_path: Path) -> None:
    log, copy = Growing(b"begin\n" * 300), LogCopy(tmp_path / "job.log")
    await copy.update(log)
    for n in range(3):
        log.data += b"".join(b"step %d row %d\n" % (n, row) for row in range(3000))
        await copy.update(log)
        assert copy.file.read_bytes() == log.data
    assert log.asked == [-1, FIRST_LINES, -1, 4 * FIRST_LINES, 4 * FIRST_LINES]
    for _ in range(3):
        await copy.update(log)
    assert copy.lines == FIRST_LINES


async def test_a_server_that_gives_fewer_lines_than_asked_for_holds_nothing_up(
    tmp_path: Path,
) -> None:
    log, copy = Growing(b"begin\n" * 300), LogCopy(tmp_path / "job.log")

    async def ask(lines: int) -> bytes:
        return await log(min(lines, 10))

    await copy.update(ask)
    for n in range(3):
        log.data += b"".join(b"step %d row %d\n" % (n, row) for row in range(100))
        await copy.update(ask)
        assert copy.file.read_bytes() == log.data


async def test_many_identical_lines_come_out_right(tmp_path: Path) -> None:
    log, copy = Growing(), LogCopy(tmp_path / "job.log")
    for _ in range(5):
        log.data += b"same\n" * 20_000
        await copy.update(log)
        assert copy.file.read_bytes() == log.data


async def test_a_log_that_became_another_one_adds_nothing(tmp_path: Path) -> None:
    log, copy = Growing(b"first head\n" * 50), LogCopy(tmp_path / "job.log")
    await copy.update(log)
    before = copy.file.read_bytes()
    for other in (b"", b"short\n", b"a new head\n" * 500):
        log.data = other
        await copy.update(log)
        assert copy.file.read_bytes() == before


async def test_a_copy_cut_off_anywhere_goes_on(tmp_path: Path) -> None:
    log, copy = (
        Growing(b"".join(b"row %d\n" % n for n in range(500))),
        LogCopy(tmp_path / "job.log"),
    )
    await copy.update(log)
    copy.file.write_bytes(log.data[:1234])
    log.data += b"more\n"
    await copy.update(log)
    assert copy.file.read_bytes() == log.data


async def test_what_cannot_be_asked_leaves_the_copy_as_it_is(tmp_path: Path) -> None:
    log, copy = Growing(b"one\n"), LogCopy(tmp_path / "job.log")
    await copy.update(log)

    async def fail(_lines: int) -> bytes:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await copy.update(fail)
    assert copy.file.read_bytes() == b"one\n"
