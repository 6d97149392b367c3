"""SkyRL's own logs and dumps: every block with every value, however the bytes are cut."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.logs.parsers.diagnosis import FailureClass, diagnose
from app.logs.parsers.eval_dump import dump_step, parse_eval_dump
from app.logs.parsers.events import LogEventKind
from app.logs.parsers.records import ANSI
from app.logs.parsers.skyrl import ParseOutcome, SkyRLConsoleParser
from tests.conformance.cases import case_files

EXPECTATIONS = [
    (expected.parent / name, content)
    for pattern in ("log-samples/expected.json", "real-run/ray/expected.json")
    for expected in case_files("skyrl", pattern)
    for name, content in json.loads(expected.read_text())["files"].items()
]
LOGS = [log for log, _ in EXPECTATIONS]
DUMPS = [
    dump
    for pattern in ("eval-dump-sample/*/*.jsonl", "real-run/evals/*/*.jsonl")
    for dump in case_files("skyrl", pattern)
    if dump.name != "aggregated_results.jsonl"
]


def parse(data: bytes) -> ParseOutcome:
    parser = SkyRLConsoleParser()
    outcome, rest = parser.feed(data), parser.finish()
    return ParseOutcome(outcome.blocks + rest.blocks, outcome.events + rest.events)


@pytest.mark.parametrize(
    ("log", "expected"), EXPECTATIONS, ids=lambda case: getattr(case, "name", "")
)
def test_blocks_are_those_expected(log: Path, expected: dict[str, Any]) -> None:
    blocks = parse(log.read_bytes()).blocks

    assert [block.step for block in blocks] == [block["step"] for block in expected["blocks"]]
    for block, wanted in zip(blocks, expected["blocks"], strict=True):
        assert len(block.values) == wanted["keys"]
        for key, value in _expected_values(wanted).items():
            assert block.values.get(key) == (None if value is None else float(value)), key
        if "time" in wanted:
            assert block.time is not None
            assert block.time.isoformat(" ", "milliseconds") == wanted["time"] + "+00:00"


def _expected_values(block: dict[str, Any]) -> dict[str, Any]:
    if "metrics" in block:
        metrics: dict[str, Any] = block["metrics"]
        return metrics
    return {key: value for key, value in block.items() if "/" in key}


@pytest.mark.parametrize("folder", case_files("skyrl", "log-samples/expected.json"), ids=str)
def test_every_key_of_the_samples_is_seen(folder: Path) -> None:
    wanted = set(json.loads(folder.read_text())["all_keys_seen"])
    blocks = [b for log in folder.parent.glob("*.log") for b in parse(log.read_bytes()).blocks]

    assert {key for block in blocks for key in block.values} == wanted


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_a_kill_after_any_byte_changes_nothing(log: Path) -> None:
    """Byte by byte; the state goes through JSON and a new parser now and then."""
    data = log.read_bytes()
    blocks, events = [], []
    parser = SkyRLConsoleParser()
    for position in range(len(data)):
        outcome = parser.feed(data[position : position + 1])
        blocks += outcome.blocks
        events += outcome.events
        if position % 997 == 0:
            parser = SkyRLConsoleParser.from_state(json.loads(json.dumps(parser.state())))
    rest = parser.finish()

    assert ParseOutcome(blocks + rest.blocks, events + rest.events) == parse(data)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_jobs_api_form_tells_the_same(log: Path) -> None:
    """The Jobs API turns CR into LF, which takes the prefix from the text after it."""
    data = log.read_bytes()

    assert parse(data.replace(b"\r", b"\n")) == parse(data)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_a_log_without_prefixes_and_colours_tells_the_same_blocks(log: Path) -> None:
    """The form of a trainer that runs in the driver and does not colour."""
    text = ANSI.sub("", log.read_text(errors="replace"))
    lines = text.replace("\r", "\n").split("\n")
    plain = "\n".join(
        line.partition(") ")[2] if line.startswith("(visgym") else line for line in lines
    )

    assert parse(plain.encode()).blocks == parse(log.read_bytes()).blocks


def test_events_of_a_whole_run() -> None:
    for log in case_files("skyrl", "log-samples/train-two-nodes*.log"):
        events = parse(log.read_bytes()).events
        steps = {
            kind: [event.step for event in events if event.kind is kind] for kind in LogEventKind
        }

        assert steps[LogEventKind.TOTAL_STEPS] == [6]
        assert steps[LogEventKind.CHECKPOINT_SAVED] == [2, 3, 4]
        assert steps[LogEventKind.EVALUATION_DUMPED] == [0, 2, 4]
        assert steps[LogEventKind.EVALUATION_AGGREGATED] == [0, 2, 4]
        assert steps[LogEventKind.STOPPED_EARLY] == [4]
        assert len(steps[LogEventKind.EXPORT_SAVED]) == 3
        assert events[-1].kind is LogEventKind.TRAINING_DONE
        phases = [event for event in events if event.kind is LogEventKind.PHASE_FINISHED]
        assert phases[0].name == "init_weight_sync_state"
        assert all(phase.seconds is not None for phase in phases)


def test_resume_and_failure_are_told() -> None:
    for log in case_files("skyrl", "log-samples/resume-mid-epoch.log"):
        events = parse(log.read_bytes()).events
        assert [e.step for e in events if e.kind is LogEventKind.RESUMED] == [4]
    for log in case_files("skyrl", "log-samples/failed-batch-stride.log"):
        events = parse(log.read_bytes()).events
        failed = [e for e in events if e.kind is LogEventKind.TRAINING_FAILED]
        assert [(e.step, e.name) for e in failed] == [(1, "AssertionError")]


@pytest.mark.parametrize(
    ("pattern", "exit_code", "failure_class", "proof"),
    [
        ("log-samples/failed-unknown-key.log", 1, FailureClass.CONFIG_ERROR, "polcy_mini_batch"),
        ("log-samples/failed-validate-batch.log", 1, FailureClass.CONFIG_ERROR, "divisible by"),
        ("log-samples/failed-resume-mode.log", 1, FailureClass.CONFIG_ERROR, "ResumeMode"),
        ("log-samples/failed-batch-stride.log", 1, FailureClass.CONFIG_ERROR, "boundaries"),
        ("real-run/ray/job-driver-smoke1.log", 1, FailureClass.ENGINE_START, "Engine core"),
        ("real-run/ray/job-driver-sft-train-1.log", 137, FailureClass.KILLED, ""),
    ],
)
def test_failures_are_diagnosed(
    pattern: str, exit_code: int, failure_class: FailureClass, proof: str
) -> None:
    for log in case_files("skyrl", pattern):
        failure = diagnose(log.read_bytes(), exit_code=exit_code)

        assert failure.failure_class is failure_class
        assert proof in "\n".join(failure.evidence)
        assert "\x1b" not in "".join(failure.evidence)
        assert failure.hint


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.parent.parent.name)
def test_dump_agrees_with_its_own_rows(dump: Path) -> None:
    rows = [json.loads(line) for line in dump.read_bytes().splitlines()]
    parsed = parse_eval_dump(dump.read_bytes())

    assert parsed.damaged_count == 0
    assert [episode.seed for episode in parsed.episodes] == [
        row["env_extras"]["seed"] for row in rows
    ]
    assert [episode.is_passed for episode in parsed.episodes] == [
        row["score"][-1] > 0 for row in rows
    ]
    assert all(1 <= e.turns <= (e.max_turns or 0) for e in parsed.episodes)
    assert all(e.env_id == "maze_2d/easy" for e in parsed.episodes)
    assert dump_step(str(dump)) == 0


def test_dump_of_a_real_run_gives_its_reported_pass_at_1() -> None:
    for dump in case_files("skyrl", "real-run/evals/*/unknown.jsonl"):
        reported = json.loads((dump.parent / "aggregated_results.jsonl").read_text())
        parsed = parse_eval_dump(dump.read_bytes())

        assert parsed.passed_count / len(parsed.episodes) == reported["eval/all/pass_at_1"]
        assert parsed.solved_count == parsed.passed_count  # keyword rewards: 1.0 or nothing
        turns = sum(episode.turns for episode in parsed.episodes) / len(parsed.episodes)
        assert turns == reported["eval/all/environment/avg_step_count"]


def test_a_passed_episode_may_be_unsolved() -> None:
    for dump in case_files("skyrl", "eval-dump-sample/*/unknown.jsonl"):
        outcomes = {(e.is_solved, e.is_passed) for e in parse_eval_dump(dump.read_bytes()).episodes}

        assert outcomes == {(True, True), (False, True), (False, False)}
