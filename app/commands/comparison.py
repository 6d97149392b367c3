"""A comparison as text for a terminal."""

import json
from typing import Any

from app.commands.tables import table
from app.metrics.charts import HERO_KEY

Json = dict[str, Any]
_CUT = 40


def comparison_text(found: Json) -> str:
    """Results by run, config differences, groups, and the sentence about them."""
    parts = [_results(found)]
    if found["differences"]:
        parts.append(_differences(found))
    if found["groups"]:
        parts.append(_groups(found))
    if found["significance"]:
        parts.append(found["significance"])
    return "\n\n".join(parts)


def _results(found: Json) -> str:
    is_rate = found["metric"] == HERO_KEY
    head = ["", "ID", "LAST SOLVE RATE", "BEST SOLVE RATE", "GPU-HOURS", "NAME"]
    if not is_rate:
        head[4:4] = [f"{found['metric']} LAST", "BEST", "AT STEP"]
    rows = []
    for run in found["runs"]:
        cells = [run["letter"], run["id"], _rate(run["last"]), _rate(run["best"])]
        if not is_rate:
            summary = run["summary"] or {}
            cells += [_number(summary.get(name)) for name in ("last", "best", "best_step")]
        rows.append([*cells, _number(run["gpu_hours"]), run["name"]])
    return table([head, *rows])


def _differences(found: Json) -> str:
    runs = found["runs"]
    rows = [
        [row["key"], *(_value(row["values"], run["id"]) for run in runs)]
        for row in found["differences"]
    ]
    return table([["CONFIG KEY", *(run["letter"] for run in runs)], *rows])


def _groups(found: Json) -> str:
    letters = {run["id"]: run["letter"] for run in found["runs"]}
    rows = []
    for group in found["groups"]:
        spread = f" ± {_number(group['deviation'])}" if group["deviation"] is not None else ""
        runs = " ".join(letters[run] for run in group["runs"])
        mean = f"{_number(group['mean'])}{spread} (n = {group['n']})" if group["n"] else "-"
        rows.append([group["label"], runs, mean])
    return table([["GROUP", "RUNS", f"{found['metric']} {found['at']}"], *rows])


def _rate(evaluation: Json | None) -> str:
    if evaluation is None or not evaluation["n"]:
        return "-"
    low, high = (100 * end for end in evaluation["interval"])
    share = f"{100 * evaluation['solve_rate']:.1f} % [{low:.0f}-{high:.0f}]"
    return f"{evaluation['solved']}/{evaluation['n']} {share} at {evaluation['step']}"


def _value(values: Json, run_id: str) -> str:
    if run_id not in values:
        return "(not set)"
    text = json.dumps(values[run_id], ensure_ascii=False)
    return text if len(text) <= _CUT else text[: _CUT - 1] + "…"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
