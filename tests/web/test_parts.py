"""The small pure parts: numbers and times in words, status lines, pictures, form fields."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.maze.eval_sets import EASY_SOLVABLE_15
from app.maze.generate import generate
from app.models import Cluster, ClusterStatus, DesiredStatus, Run, RunStatus
from app.web import filters
from app.web.flash import flash
from app.web.run_words import ends_at, queue_words, status_words
from app.web.svg import maze_picture, sparkline
from app.web.templating import to_json

NOW = datetime(2026, 11, 29, 16, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (-9, "just now"),
        (59, "59 s ago"),
        (240, "4 min ago"),
        (-7200, "in 2 h"),
        (-7 * 86_400 + 5, "in 7 d"),
        (-61, "in 1 min"),
        (-6.5 * 86_400, "in 7 d"),
        (3 * 86_400 + 5, "3 d ago"),
    ],
)
def test_relative_times(seconds: float, words: str) -> None:
    assert filters.relative_time(NOW - timedelta(seconds=seconds), NOW) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.3, "0.3 s"),
        (0.314, "0.31 s"),
        (41.2, "41 s"),
        (59.7, "1 min"),
        (125, "2 min 5 s"),
        (12_000, "3 h 20 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert filters.duration(seconds) == words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "NaN"),
        (-math.inf, "−∞"),
        (1234567, "1,234,567"),
        (-3.0, "−3"),
        (0.8405, "0.8405"),
        (13.5012, "13.50"),
        (-0.000_003, "−3.00e−6"),
    ],
)
def test_numbers(value: float | None, text: str) -> None:
    assert filters.number(value) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(812, "812 B"), (4100, "4.1 kB"), (999_960, "1.0 MB"), (10**15, "1000.0 TB")],
)
def test_sizes(count: int, text: str) -> None:
    assert filters.file_size(count) == text


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_every_number_can_be_written(value: float) -> None:
    assert filters.number(value)


def make_run(**given: object) -> Run:
    values = {
        "status": RunStatus.RUNNING,
        "desired_status": DesiredStatus.RUN,
        "cluster": Cluster(status=ClusterStatus.READY),
        "created_at": NOW,
    }
    return Run(**(values | given))


def test_a_running_run_says_step_pace_and_end() -> None:
    run = make_run(step=84, total_steps=200, seconds_per_step=41.0, progress_at=NOW)
    assert status_words(run, position=None) == "Running step 84 of 200 · 41 s a step"
    assert ends_at(run) == NOW + timedelta(seconds=116 * 41)


def test_a_run_without_a_step_yet_says_its_phase() -> None:
    assert status_words(make_run(phase="evaluating"), position=None) == "Running: evaluating"
    assert ends_at(make_run(phase="evaluating")) is None


@pytest.mark.parametrize(
    ("status", "position", "words"),
    [
        (ClusterStatus.READY, 1, "starts next"),
        (ClusterStatus.READY, 2, "waits, position 2"),
        (ClusterStatus.STARTING, 1, "waits for the cluster to start"),
        (ClusterStatus.UNREACHABLE, 3, "waits for the cluster"),
    ],
)
def test_a_queued_run_says_what_it_waits_for(
    status: ClusterStatus, position: int, words: str
) -> None:
    run = make_run(status=RunStatus.QUEUED, cluster=Cluster(status=status))
    assert queue_words(run, position=position) == words
    assert status_words(run, position=position) == f"Queued · {words}"


def test_the_wish_to_stop_is_said_before_it_is_carried_out() -> None:
    run = make_run(desired_status=DesiredStatus.STOP, step=3)
    assert status_words(run, position=None) == "Stopping: it saves a checkpoint first · at step 3"
    assert ends_at(run) is None


def test_an_ended_run_says_how_long_it_took() -> None:
    times = {"started_at": NOW, "ended_at": NOW + timedelta(seconds=48)}
    stopped = make_run(status=RunStatus.STOPPED, step=120, total_steps=280, **times)
    assert status_words(stopped, position=None) == "Stopped after 48 s · at step 120 of 280"
    done = make_run(status=RunStatus.SUCCEEDED, step=280, total_steps=280, **times)
    assert status_words(done, position=None) == "Succeeded after 48 s"


@pytest.mark.parametrize("status", list(RunStatus))
def test_every_status_has_words(status: RunStatus) -> None:
    assert status_words(make_run(status=status), position=None)


@pytest.mark.parametrize("seed", EASY_SOLVABLE_15.seeds[:8])
def test_a_maze_picture_has_its_walls_and_leads_to_its_target(seed: int) -> None:
    picture = maze_picture("maze_2d/easy", seed)
    maze = generate(seed)
    lengths = [
        int(part.partition("h")[2].partition("v")[0]) for part in picture.walls.split("M")[1:]
    ]
    assert sum(lengths) == int(maze.map.sum())
    start, *moves = picture.route.removeprefix("M").split("l")
    x, y = map(float, start.split())
    assert (y, x) == (maze.start[0] + 0.5, maze.start[1] + 0.5)
    for move in moves:
        right, down = map(int, move.split())
        x, y = x + right, y + down
        assert not maze.is_wall((int(y), int(x)))
    assert (x, y) == (picture.target_x, picture.target_y)


@given(st.lists(st.floats(0, 1), max_size=50))
def test_a_sparkline_stays_in_its_box(values: list[float]) -> None:
    points = [tuple(map(float, point.split(","))) for point in sparkline(values).split()]
    assert len(points) == len(values)
    assert all(0 <= x <= 72 and 0 <= y <= 20 for x, y in points)


@given(st.text())
def test_json_in_a_page_cannot_end_its_element(text: str) -> None:
    assert "<" not in to_json({"name": text})


def test_only_known_sentences_can_be_flashed() -> None:
    from starlette.responses import Response

    with pytest.raises(KeyError):
        flash(Response(), "anything")
