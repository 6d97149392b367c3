"""A copy of a log, made of its last lines, is the log itself or nothing beyond what is sure."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ray.log_copy import FIRST_LINES, LogCopy, join

PIECES = st.lists(
    st.sampled_from([b"a\n", b"a\r", b"step 1\n", b"\xff\n", b"", b"x" * 3000 + b"\n"])
)


class Growing:
    """A log that answers as Ray does; `asked` notes how many lines were asked for."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = data
        self.asked: list[int] = []

    async def __call__(self, lines: int) -> bytes:
        self.asked.append(lines)
        rows = self.data.splitlines(keepends=True)
        return b"".join(rows if lines < 0 else rows[-lines:])


@given(known=PIECES, new=PIECES, cut=st.integers(0, 50))
def test_what_is_joined_is_never_wrong(known: list[bytes], new: list[bytes], cut: int) -> None:
    before, added = b"".join(known), b"".join(new)
    fetched = b"".join([*known, *new][cut:])
    found = join(before, fetched)
    is_gap = cut > len(known)
    if found is not None and not is_gap:
        assert before + found == before + added


def test_a_gap_and_a_repeated_line_are_told() -> None:
    assert join(b"one\n" * 1000, b"one\n" * 1000) is None
    assert join(b"one\ntwo\n", b"three\n") is None
    assert join(b"", b"three\n") is None
    assert join(b"one\ntwo\n", b"one\ntwo\nthree\n") == b"three\n"
    assert join(b"one\ntwo\n", b"one\ntwo\n") == b""


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
