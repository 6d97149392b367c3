"""Episodes of training evaluations, rebuilt from their dumps."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from safetensors.numpy import load_file

from app.db import Database
from app.episodes import packed
from app.episodes.loaded import LoadedEpisode
from app.episodes.packed import pack, unpack
from app.episodes.rollouts import rollout_as_episode
from app.episodes.states import Outcome
from app.errors import NotFound
from app.logs.parsers.eval_dump import DumpedEpisode, EvalDump, parse_eval_dump
from app.maze.eval_sets import EASY_SOLVABLE_15
from app.maze.parse import Dialect
from app.models import Run, TrainingRollouts
from tests.api.helpers import V1, get, problem
from tests.conformance.cases import case_files
from tests.episodes.factories import solution, wall
from tests.factories import make_external_run
from worker.jobs.maze_grpo.base import BASE_FILE
from worker.jobs.maze_grpo.evaluate import Evaluator
from worker.jobs.maze_grpo.model import Policy
from worker.reconcilers.dumps import Evaluation

PADS = "<|vision_start|>" + "<|image_pad|>" * 3 + "<|vision_end|>"
WENT = "Action executed successfully."
BUMPED = "Cannot move into a wall."


def dump_row(
    answers: Sequence[str], feedbacks: Sequence[str], *, score: float, seed: int | None = 0
) -> dict[str, Any]:
    """A row as SkyRL writes it, in the keyword dialect."""
    response = f"{answers[0]}<|im_end|>"
    for feedback, answer in zip(feedbacks, answers[1:], strict=True):
        response += f"\n<|im_start|>user\n{feedback}{PADS}<|im_end|>\n"
        response += f"<|im_start|>assistant\n{answer}<|im_end|>"
    return {
        "input_prompt": f"… <action>ACTION</action> …{PADS}<|im_end|>\n<|im_start|>assistant\n",
        "output_response": response,
        "score": [0.0, score],
        "stop_reason": "stop",
        "env_extras": {"visgym_env_id": "maze_2d/easy", "seed": seed, "max_turns": 15},
    }


def parsed(*rows: dict[str, Any]) -> EvalDump:
    return parse_eval_dump("".join(json.dumps(row) + "\n" for row in rows).encode())


def item_of(episode: DumpedEpisode) -> dict[str, Any]:
    return {
        "seed": episode.seed,
        "solved": episode.is_solved,
        "passed": episode.is_passed,
        "turns": episode.turns,
        "reward": episode.score_sum,
    }


def rebuilt(dump: EvalDump, index: int = 0) -> LoadedEpisode:
    rollout = unpack(pack(dump.episodes), index)
    assert rollout is not None
    return rollout_as_episode(rollout, item_of(dump.episodes[index]), title="tuesday")


def solved_row() -> dict[str, Any]:
    answers = solution()
    return dump_row(answers, [WENT] * (len(answers) - 1), score=1.0)


def test_an_episode_comes_back_as_it_was() -> None:
    episode = rebuilt(parsed(solved_row()))
    lane = episode.lanes[0].lane
    assert [turn.answer.text for turn in lane.turns] == solution()
    assert (lane.outcome, lane.reward) == (Outcome.SOLVED, 1.0)
    assert episode.task.dialect is Dialect.KEYWORD
    assert episode.recorded is not None
    assert (episode.recorded.is_solved, episode.recorded.problem) == (True, "")


def test_a_conversation_that_got_too_long_ends_there() -> None:
    row = dump_row([wall(), wall()], [BUMPED], score=0.0) | {"stop_reason": "length"}
    lane = rebuilt(parsed(row)).lanes[0].lane
    assert (lane.outcome, len(lane.turns)) == (Outcome.CONTEXT_LIMIT, 2)


def test_another_maze_is_noticed() -> None:
    """A fork may number its mazes otherwise; pictures of ours would then be wrong."""
    row = dump_row([wall(), wall()], [WENT], score=0.0)
    episode = rebuilt(parsed(row))
    assert episode.recorded is not None
    assert "At turn 1" in episode.recorded.problem
    assert "another maze" in episode.recorded.problem
    early = rebuilt(parsed(dump_row(["<action>stop</action>"] * 2, [WENT], score=0.0)))
    assert early.recorded is not None
    assert "ends after 1" in early.recorded.problem
    counted = rebuilt(parsed(dump_row(["<action>stop</action>"], [], score=1.0)))
    assert counted.recorded is not None
    assert "counted this episode as solved" in counted.recorded.problem


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (dump_row([wall()], [], score=0.0, seed=None), "no seed"),
        (dump_row([wall()], [], score=0.0, seed=-4), "cannot be rebuilt"),
        (
            dump_row([wall()], [], score=0.0)
            | {"env_extras": {"visgym_env_id": "maze_2d/medium", "seed": 1}},
            "maze_2d/medium",
        ),
        (dump_row(["x" * packed.MAX_EPISODE_CHARACTERS], ["y"][:0], score=0.0), ""),
        (dump_row(["x" * (packed.MAX_EPISODE_CHARACTERS + 1)], [], score=0.0), "too long"),
    ],
    ids=["no seed", "bad seed", "no such environment", "just kept", "too long"],
)
def test_what_cannot_be_rebuilt_says_why(row: dict[str, Any], reason: str) -> None:
    if not reason:
        assert rebuilt(parsed(row)).lanes[0].lane.turns
        return
    with pytest.raises(NotFound, match=reason):
        rebuilt(parsed(row))


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "MAX_CHARACTERS", 2_500)
    dump = parsed(*[dump_row(["z" * 1_000], [], score=0.0)] * 4)
    payload = pack(dump.episodes)
    kept = [unpack(payload, index) for index in range(4)]
    assert [each is not None and each.answers is not None for each in kept] == [
        True,
        True,
        False,
        False,
    ]
    assert unpack(payload, 4) is None
    assert unpack(payload, -1) is None


def _samples() -> list[Path]:
    files = case_files("skyrl", "**/global_step_*_evals/*.jsonl")
    return [file for file in files if file.name != "aggregated_results.jsonl"]


@pytest.mark.parametrize("file", _samples(), ids=lambda file: f"{file.parent.parent.name}")
def test_samples_of_skyrl_are_rebuilt(file: Path) -> None:
    """Of real evaluations: each answer found, each feedback as the maze here gives it."""
    dump = parse_eval_dump(file.read_bytes())
    payload = pack(dump.episodes)
    for index, episode in enumerate(dump.episodes):
        rollout = unpack(payload, index)
        assert rollout is not None
        assert rollout.answers is not None
        assert len(rollout.answers) == len(rollout.feedbacks) + 1 == episode.turns
        found = rollout_as_episode(rollout, item_of(episode), title="sample")
        assert found.recorded is not None
        assert found.recorded.problem == ""
        lane = found.lanes[0].lane
        assert lane.is_solved == episode.is_solved
        assert lane.reward == pytest.approx(episode.score_sum, abs=1e-9)
        assert lane.is_passed == episode.is_passed


def test_samples_have_passes_that_are_not_solved() -> None:
    dumps = [parse_eval_dump(file.read_bytes()) for file in _samples()]
    assert any(dump.solved_count < dump.passed_count for dump in dumps)


def test_the_embedded_trainers_dump_is_rebuilt(tmp_path: Path) -> None:
    evaluator = Evaluator(EASY_SOLVABLE_15)
    evaluation = evaluator.evaluate(Policy(load_file(BASE_FILE)))
    evaluator.dump(evaluation, tmp_path / "global_step_0_evals")
    file = tmp_path / "global_step_0_evals" / "unknown.jsonl"
    dump = parse_eval_dump(file.read_bytes())
    solved = 0
    for index in range(len(dump.episodes)):
        found = rebuilt(dump, index)
        assert found.recorded is not None
        assert found.recorded.problem == ""
        solved += found.lanes[0].lane.is_solved
    assert solved == dump.solved_count == evaluation.solved


async def store(database: Database, dump: EvalDump, *, attempt: int = 1) -> Run:
    found = Evaluation(5, "/gone.jsonl", dump, None, pack(dump.episodes))
    async with database.write() as session:
        run = await make_external_run(session, name=f"run {attempt}")
        row = found.row(run.id, attempt, now=run.created_at)
        session.add(row)
        await session.flush()
        session.add(TrainingRollouts(evaluation_id=row.id, payload=found.rollouts))
        return run


async def test_the_api_gives_what_was_counted_and_what_was_played(
    api: httpx.AsyncClient, database: Database
) -> None:
    formatted = dump_row([wall()] * 15, [BUMPED] * 14, score=0.2)
    run = await store(database, parsed(solved_row(), formatted))
    path = f"/runs/{run.slug}/evaluations/5"
    whole = await get(api, path)
    assert (whole["n"], whole["solved"], whole["passed"]) == (2, 1, 2)
    assert [item["number"] for item in whole["items"]] == [1, 2]
    first = await get(api, f"{path}/episodes/1")
    assert first["recorded"] == {
        "solved": True,
        "passed": True,
        "reward": 1.0,
        "turns": len(solution()),
        "problem": "",
    }
    assert first["lanes"][0]["outcome"] == "solved"
    assert first["lanes"][0]["turns"][-1]["feedback"] == WENT
    assert (first["run"], first["attempt"], first["step"]) == (run.slug, 1, 5)
    second = await get(api, f"{path}/episodes/2")
    assert (second["recorded"]["solved"], second["recorded"]["passed"]) == (False, True)
    assert second["lanes"][0]["outcome"] == "wall_bumping"
    for missing in (f"{path}/episodes/3", f"/runs/{run.slug}/evaluations/6", f"{path}?attempt=2"):
        problem(await api.get(V1 + missing), 404)


async def test_an_evaluation_of_before_says_that_nothing_was_kept(
    api: httpx.AsyncClient, database: Database
) -> None:
    async with database.write() as session:
        run = await make_external_run(session)
        evaluation = Evaluation(0, "/gone", parsed(solved_row()), None, b"")
        session.add(evaluation.row(run.id, 1, now=run.created_at))
    answer = await api.get(f"{V1}/runs/{run.slug}/evaluations/0/episodes/1")
    assert "not kept" in problem(answer, 404)["detail"]
