"""Recorded episodes of SkyRL's wrapper through the turn engine."""

import json
from typing import Any

import pytest

from app.episodes.engine import Answer, Lane, Task
from app.episodes.states import Outcome
from app.llm.chat import Completion, Usage
from app.maze.episode import Episode
from app.maze.parse import Dialect
from tests.conformance.cases import case_files


def _episodes() -> list[Any]:
    return [
        pytest.param(episode, id=f"{path.stem}-{episode['name']}")
        for path in case_files("visgym", "*-episodes.json")
        for episode in json.loads(path.read_text())["episodes"]
    ]


@pytest.mark.parametrize("recorded", _episodes())
def test_lanes_go_as_recorded(recorded: dict[str, Any]) -> None:
    env_id, seed = recorded["env_metrics"]["visgym_env_id"], recorded["seed"]
    task = Task(env_id=env_id, seed=seed, max_turns=recorded["max_turns"], dialect=Dialect.TUPLE)
    wrapped = Episode(env_id, seed, max_turns=task.max_turns, dialect=task.dialect)
    lane = Lane(task)
    for expected in recorded["steps"]:
        assert lane.request() == wrapped.messages
        wrapped.turn(expected["assistant"])
        turn = lane.take(_completion(expected["assistant"]))
        assert turn is not None
        assert turn.reward == pytest.approx(expected["reward"], abs=1e-12)
        assert turn.is_last == expected["done"] == lane.is_over
        assert (turn.action or "") == expected["metadata"]["extracted_action"]
    assert lane.messages == wrapped.messages
    assert lane.is_solved == (lane.outcome is Outcome.SOLVED) == recorded["solved"]
    assert lane.is_passed == recorded["counts_as_pass"]
    answers = [Answer(text=step["assistant"]) for step in recorded["steps"]]
    again = Lane.restore(task, answers)
    assert again.messages == wrapped.messages
    assert (again.outcome, again.reward) == (lane.outcome, lane.reward)


def _completion(text: str) -> Completion:
    return Completion(text=text, finish_reason="stop", usage=Usage(None, None), latency_seconds=0.0)
