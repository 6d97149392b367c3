"""Events come out whole, however their bytes were cut, and never larger than allowed."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.llm.events import EventReader, EventTooLong

LINE = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20)


@given(
    events=st.lists(st.lists(LINE, min_size=1, max_size=3), max_size=5),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    cuts=st.lists(st.integers(0, 400), max_size=12),
)
def test_where_the_bytes_are_cut_changes_nothing(
    events: list[list[str]], end: str, cuts: list[int]
) -> None:
    sent = ": note" + end + "id: 7" + end
    for lines in events:
        sent += "".join(f"data: {line}{end}" for line in lines) + end
    data = sent.encode()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    reader, found = EventReader(), list[str]()
    for start, stop in itertools.pairwise(places):
        found += reader.feed(data[start:stop])
    assert found == ["\n".join(lines) for lines in events]


@pytest.mark.parametrize("piece", [b"x", b"data: y\n"])
def test_an_unfinished_event_has_a_bound(piece: bytes) -> None:
    reader = EventReader(longest=100)
    with pytest.raises(EventTooLong):
        list(itertools.chain.from_iterable(reader.feed(piece) for _ in range(200)))
