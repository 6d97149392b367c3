from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ids import new_id
from app.models import Run, RunStatus
from app.runs.states import (
    ATTEMPT_ENDED,
    ATTEMPT_TRANSITIONS,
    ENDED,
    TRANSITIONS,
    WrongTransition,
    transition,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def a_run(status: RunStatus) -> Run:
    return Run(id=new_id(), status=status)


@given(st.sampled_from(RunStatus), st.sampled_from(RunStatus))
def test_only_the_table_allows_a_change(before: RunStatus, after: RunStatus) -> None:
    run = a_run(before)
    if after in TRANSITIONS[before]:
        event = transition(run, after, at=NOW, actor="worker", reason="r", message="m")
        assert (event.from_status, event.to_status, run.status) == (before, after, after)
        assert (run.ended_at is not None) == (after in ENDED)
    else:
        with pytest.raises(WrongTransition):
            transition(run, after, at=NOW, actor="worker", reason="r")
        assert run.status is before


def test_each_status_has_a_row_and_every_run_can_end() -> None:
    assert set(TRANSITIONS) == set(RunStatus)
    for status in RunStatus:
        reachable, frontier = {status}, [status]
        while frontier:
            for after in TRANSITIONS[frontier.pop()] - reachable:
                reachable.add(after)
                frontier.append(after)
        assert reachable & ENDED


def test_what_has_ended_stays_ended_but_for_a_resume_by_hand() -> None:
    assert TRANSITIONS[RunStatus.SUCCEEDED] == frozenset()
    for status in (RunStatus.FAILED, RunStatus.STOPPED, RunStatus.LOST):
        assert TRANSITIONS[status] == {RunStatus.QUEUED}
    for ended in ATTEMPT_ENDED:
        assert ATTEMPT_TRANSITIONS[ended] == frozenset()
    assert {status.value for status in ATTEMPT_ENDED} == {status.value for status in ENDED}


def test_what_runs_never_goes_back_to_the_queue() -> None:
    under_way = {RunStatus.SUBMITTING, RunStatus.PENDING, RunStatus.RUNNING, RunStatus.STOPPING}
    assert all(RunStatus.QUEUED not in TRANSITIONS[status] for status in under_way)
    assert RunStatus.RUNNING not in TRANSITIONS[RunStatus.STOPPING]


def test_a_second_start_keeps_the_first_time() -> None:
    run = a_run(RunStatus.PENDING)
    transition(run, RunStatus.RUNNING, at=NOW, actor="worker", reason="r")
    run.status = RunStatus.PENDING
    later = datetime(2026, 1, 2, tzinfo=UTC)
    transition(run, RunStatus.RUNNING, at=later, actor="worker", reason="r")
    assert run.started_at == NOW
