"""The table of goals says what was measured, of whom, and what was missed."""

from tests.bench.bench_peers import _parts
from tests.bench.peers.goals import failures, table

_INGEST = {"phase": "ingest", "case": "quarter", "api": "batch", "points": 600}


def _ingest(tool: str, client: float, server: float) -> dict[str, object]:
    return {**_INGEST, "tool": tool, "client_cpu_s": client, "server_cpu_s": server}


def _cells(lines: list[str], work: str) -> list[str]:
    found = next(line for line in lines if line.startswith(f"| {work}"))
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_a_goal_is_the_median_of_all_rounds_beside_the_best_peer() -> None:
    rows = [
        *(_ingest("skydeck", 0.0004, seconds) for seconds in (0.0002, 0.0006, 0.0009)),
        _ingest("mlflow", 0.1, 0.1),
        _ingest("trackio", 0.001, 0.001),
    ]
    lines, missed = table(rows)
    assert _cells(lines, "ingest quarter:batch") == [
        "ingest quarter:batch, points per CPU s",
        "≥ 500,000",
        "600,000",
        "3",
        "3,000",
        "300,000",
        "2.0×",
        "yes",
    ]
    assert missed == []


def test_a_missed_goal_is_said_and_named() -> None:
    lines, missed = table([_ingest("skydeck", 1.0, 1.0)])
    assert _cells(lines, "ingest quarter:batch")[2:] == [
        "300",
        "1",
        "no peer measured",
        "**missed**",
    ]
    assert missed == ["ingest quarter:batch, points per CPU s"]


def test_less_is_better_where_the_goal_is_a_most() -> None:
    row = {"phase": "read", "case": "wide", "op": "chart_100_sampled", "wire_bytes": 102_400}
    rows = [
        {**row, "tool": "skydeck", "server_cpu_ms": 50.0, "repeats": 20},
        {**row, "tool": "trackio", "server_cpu_ms": 800.0},
    ]
    lines, _ = table(rows)
    assert _cells(lines, "chart 100 × 1,000 steps, CPU ms")[2:] == [
        "50",
        "20",
        "800",
        "16.0×",
        "yes",
    ]
    assert _cells(lines, "chart 100 × 1,000 steps, KiB")[2] == "100"


def test_what_was_not_measured_is_no_line_and_what_failed_is_no_figure() -> None:
    failed = {
        "phase": "read",
        "tool": "mlflow",
        "case": "many",
        "op": "list",
        "error": "gone\naway",
    }
    lines, missed = table([failed])
    assert len(lines) == 2
    assert missed == []
    assert failures([failed]) == ["- mlflow, read many list: gone away"]


def test_phases_stand_between_two_dashes() -> None:
    words = ["trackio=a", "--", "load", "--case", "many", "--", "read", "--case", "many"]
    tools, *phases = _parts(words)
    assert tools == ["trackio=a"]
    assert phases == [["load", "--case", "many"], ["read", "--case", "many"]]
    assert list(_parts(["--", "size"])) == [[], ["size"]]
    assert list(_parts([])) == [[]]
