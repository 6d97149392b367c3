"""The reader of pushed bodies takes whatever is sent, or says what is wrong with it."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Invalid
from app.metrics import push
from app.metrics.columns import Columns
from app.metrics.push import read_columns

SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
VALUES = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(list(SPECIAL)))
STEPS = st.integers(-(2**63), 2**63 - 1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["step", "time"]), inner)
    ),
    max_leaves=8,
)


def read(body: bytes, *, is_lines: bool) -> dict[str, Columns] | Invalid:
    try:
        return read_columns(body, is_lines=is_lines, received_at=5.0)
    except Invalid as error:
        return error


@given(JSON, st.booleans())
def test_nonsense_is_refused_in_words(body: Any, is_lines: bool) -> None:
    found = read(json.dumps(body).encode(), is_lines=is_lines)
    if isinstance(found, Invalid):
        assert found.problems[0].message
    else:
        assert all(key and len(points) for key, points in found.items())


@given(st.binary(max_size=60), st.booleans())
def test_noise_is_no_crash(body: bytes, is_lines: bool) -> None:
    found = read(body, is_lines=is_lines)
    assert isinstance(found, Invalid) or all((each.times >= 0).all() for each in found.values())


@given(st.lists(st.tuples(STEPS, VALUES), max_size=8))
def test_all_shapes_say_the_same(rows: list[tuple[int, Any]]) -> None:
    wanted = [(step, SPECIAL.get(value, value)) for step, value in rows]
    points = [{"key": "a", "step": step, "value": value} for step, value in rows]
    columns = {"step": [step for step, _ in rows], "a": [value for _, value in rows]}
    lines = "\n".join(json.dumps({"step": step, "a": value}) for step, value in rows)
    for text, is_lines in (
        (json.dumps({"points": points}), False),
        (json.dumps(columns), False),
        (lines, True),
    ):
        found = read_columns(text.encode(), is_lines=is_lines, received_at=5.0)
        read_back = found.get("a", Columns.of([]))
        assert read_back.steps.tolist() == [step for step, _ in wanted]
        assert list(map(repr, read_back.values.tolist())) == [repr(float(v)) for _, v in wanted]
        assert found.keys() <= {"a"}
        assert set(read_back.times.tolist()) <= {5.0}


@pytest.mark.parametrize(
    "time",
    [
        "9999-12-31T23:59:59-01:00",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00+01:00",
        "1969-12-31T23:59:59Z",
        2**35,
        10**400,
        -1,
        True,
        float("nan"),
        float("inf"),
        "yesterday",
        "2026-11-29T12:00:00",
    ],
)
def test_times_that_cannot_be_shown(time: Any) -> None:
    body = json.dumps({"points": [{"key": "a", "step": 1, "value": 1, "time": time}]}).encode()
    with pytest.raises(Invalid, match="time"):
        read_columns(body, is_lines=False, received_at=0.0)


@pytest.mark.parametrize("time", [0, 1.5, 2**35 - 1, "1970-01-01T00:00:00Z"])
def test_times_at_the_edge(time: Any) -> None:
    body = json.dumps({"points": [{"key": "a", "step": 1, "value": 1, "time": time}]}).encode()
    times = read_columns(body, is_lines=False, received_at=5.0)["a"].times
    assert times.tolist() == [0 if isinstance(time, str) else time]


def test_too_many_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push, "MAX_KEYS", 2)
    rows = {"step": [1], "a": [1], "b": [1]}
    assert len(read_columns(json.dumps(rows).encode(), is_lines=False, received_at=0.0)) == 2
    with pytest.raises(Invalid, match="at most 2 keys"):
        read_columns(json.dumps(rows | {"c": [1]}).encode(), is_lines=False, received_at=0.0)


def test_too_many_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push, "MAX_POINTS", 2)
    body = json.dumps({"step": [1, 2, 3], "a": [1, 2, 3]}).encode()
    with pytest.raises(Invalid, match="at most 2"):
        read_columns(body, is_lines=False, received_at=0.0)
