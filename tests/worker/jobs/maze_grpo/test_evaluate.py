import json
from pathlib import Path

import pytest

from app.logs.parsers.eval_dump import parse_eval_dump
from app.maze.eval_sets import EASY_SOLVABLE_15, EvalSet
from tests.conformance.cases import case_files
from worker.jobs.maze_grpo import files
from worker.jobs.maze_grpo.base import BASE_FILE
from worker.jobs.maze_grpo.evalsets import UnusableEvalSet, eval_set
from worker.jobs.maze_grpo.evaluate import Evaluation, Evaluator
from worker.jobs.maze_grpo.export import read_base
from worker.jobs.maze_grpo.model import Policy

FEW = EvalSet(
    name="few",
    env_id="maze_2d/easy",
    seeds=EASY_SOLVABLE_15.seeds[:8],
    max_turns=15,
    dialect=EASY_SOLVABLE_15.dialect,
    solvable_count=8,
)


@pytest.fixture(scope="module")
def evaluator() -> Evaluator:
    return Evaluator(FEW)


@pytest.fixture(scope="module")
def evaluation(evaluator: Evaluator) -> Evaluation:
    return evaluator.evaluate(Policy(read_base(BASE_FILE)[0]))


def test_rows_have_skyrls_fields_and_tell_seed_turns_and_solved(
    evaluator: Evaluator, evaluation: Evaluation, tmp_path: Path
) -> None:
    evaluator.dump(evaluation, tmp_path / "global_step_0_evals")
    data = (tmp_path / "global_step_0_evals" / "unknown.jsonl").read_bytes()
    rows = [json.loads(line) for line in data.splitlines()]
    sample = case_files("skyrl", "eval-dump-sample/*/unknown.jsonl")[0]
    real = json.loads(sample.read_text().splitlines()[0])
    assert all(list(row) == list(real) for row in rows)
    assert set(rows[0]["env_extras"]) == set(real["env_extras"])
    read = parse_eval_dump(data)
    assert [episode.seed for episode in read.episodes] == list(FEW.seeds)
    assert [episode.turns for episode in read.episodes] == [e.turns for e in evaluation.played]
    assert read.solved_count == evaluation.solved == read.passed_count
    assert 0 < evaluation.solved < 8


def test_the_response_holds_all_turns_and_one_reward_a_token(
    evaluator: Evaluator, evaluation: Evaluation, tmp_path: Path
) -> None:
    evaluator.dump(evaluation, tmp_path / "global_step_0_evals")
    first = (tmp_path / "global_step_0_evals" / "unknown.jsonl").read_text().splitlines()[0]
    row, played = json.loads(first), evaluation.played[0]
    assert row["input_prompt"].startswith("<|im_start|>user\nYou are navigating a 9x9 maze.")
    assert row["input_prompt"].endswith("<|vision_end|><|im_end|>\n<|im_start|>assistant\n")
    assert row["output_response"].startswith("<action>")
    assert row["output_response"].count("<action>") == played.turns
    assert row["output_response"].endswith("</action><|im_end|>")
    assert row["output_response"].count("<|vision_start|>") == played.turns - 1
    assert len(row["score"]) == 2 * played.turns + 26 * (played.turns - 1)
    assert row["score"][-1] == played.reward
    assert not any(row["score"][:-1])


def test_the_aggregate_has_skyrls_keys(
    evaluator: Evaluator, evaluation: Evaluation, tmp_path: Path
) -> None:
    path = evaluator.dump(evaluation, tmp_path / "global_step_0_evals")
    aggregate = json.loads(path.read_text())
    assert aggregate == evaluation.values
    assert aggregate["eval/all/pass_at_1"] == evaluation.solved / 8
    turns = sum(each.turns for each in evaluation.played) / 8
    assert aggregate["eval/all/environment/avg_step_count"] == turns
    real = json.loads(
        case_files("skyrl", "eval-dump-sample/*/aggregated_results.jsonl")[0].read_text()
    )
    assert set(aggregate) <= set(real)


def test_a_reader_never_sees_half_a_dump(
    evaluator: Evaluator,
    evaluation: Evaluation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target, seen = tmp_path / "global_step_0_evals", list[bool]()
    write = files.write_synced

    def watched(path: Path, data: bytes) -> None:
        write(path, data)
        seen.append(target.exists())

    monkeypatch.setattr(files, "write_synced", watched)
    evaluator.dump(evaluation, target)
    assert seen == [False, False]
    assert target.is_dir()


def test_only_sets_that_the_policy_can_play_are_known() -> None:
    assert eval_set("easy-solvable-15") is EASY_SOLVABLE_15
    for name in ("easy-0-63-t15", "nope"):
        with pytest.raises(
            UnusableEvalSet, match=r"data\.val_data must be one of easy-solvable-15"
        ):
            eval_set(name)
