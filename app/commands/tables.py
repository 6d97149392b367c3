"""Runs as text for a terminal."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from app.audit.service import Row as AuditRow
from app.endpoints.service import EndpointModel
from app.metrics.charts import HERO_KEY
from app.models import AuditEntry, Endpoint, Project, User
from app.projects.service import Member
from app.secrets.service import Listed
from app.users.service import TokenEntry
from app.web.filters import latency

_COLUMNS = ("ID", "STATUS", "STEP", "SOLVE RATE", "CREATED (UTC)", "NAME")
_USER_COLUMNS = ("NAME", "ROLE", "CREATED (UTC)")
_TOKEN_COLUMNS = ("ID", "BEGINS", "SCOPE", "PROJECT", "USER", "EXPIRES (UTC)", "USED (UTC)", "NAME")
_AUDIT_COLUMNS = ("WHEN (UTC)", "WHO", "FROM", "ACTION", "OUTCOME", "OBJECT")
_PROJECT_COLUMNS = ("ID", "MEMBERS", "RUNS", "CREATED (UTC)", "NAME")
_MEMBER_COLUMNS = ("NAME", "ROLE", "SINCE (UTC)")
_EXPERIMENT_COLUMNS = ("ID", "VERSION", "RECIPE", "PROJECT", "CREATED (UTC)", "NAME")
_ADAPTER_COLUMNS = ("ID", "STATUS", "RUN", "STEP", "SOLVE RATE", "CREATED (UTC)", "MODEL")
_EVALUATION_COLUMNS = ("ID", "STATUS", "EPISODES", "EVAL SET", "CREATED (UTC)", "NAME")
_SWEEP_COLUMNS = ("ID", "KIND", "RUNS", "EXPERIMENT", "CREATED (UTC)", "NAME")
_CLUSTER_COLUMNS = ("ID", "KIND", "STATUS", "ADDRESS", "NAME")
_ENDPOINT_COLUMNS = ("ID", "STATUS", "MODELS", "LATENCY", "SEEN (UTC)", "URL", "NAME")
_MODEL_COLUMNS = ("MODEL", "BASE", "CONTEXT")
_SECRET_COLUMNS = ("NAME", "SET BY", "CHANGED (UTC)", "LAST USED (UTC)", "CONFIGS")


def runs_table(runs: Sequence[dict[str, Any]]) -> str:
    """One line a run under a line of titles; the best solve rate is shown."""
    return table([_COLUMNS, *(_row(run) for run in runs)])


def experiments_table(experiments: Sequence[dict[str, Any]]) -> str:
    """One line an experiment under a line of titles."""
    rows = [
        (
            each["id"],
            str(each["version"] or "-"),
            each["recipe"] or "-",
            each["project"],
            _time(each["created_at"]),
            each["name"],
        )
        for each in experiments
    ]
    return table([_EXPERIMENT_COLUMNS, *rows])


def experiment_text(experiment: dict[str, Any], versions: Sequence[dict[str, Any]]) -> str:
    """An experiment in some lines, then its versions with what each changed."""
    origin = experiment["forked_from"]
    lines = [
        f"{experiment['id']}  {experiment['name']}",
        f"project     {experiment['project']}",
        f"recipe      {experiment['recipe'] or '-'}",
        f"tags        {', '.join(experiment['tags']) or '-'}",
        f"created     {_moment(experiment['created_at'])}  by {experiment['owner']}",
    ]
    if experiment["archived_at"]:
        lines.append(f"archived    {_moment(experiment['archived_at'])}")
    if origin:
        lines.append(f"forked from {origin['id']} version {origin['version']}")
    for each in versions:
        made = f"{_moment(each['created_at'])}  by {each['created_by']}"
        lines.append(f"version {each['version']}   {each['digest'][:12]}  {made}")
        lines += [f"            {change_line(change)}" for change in each["changes"]]
    return "\n".join(lines)


def change_line(change: dict[str, Any]) -> str:
    """`key: before → after` of one difference."""
    before = "(not set)" if change["is_new"] else json.dumps(change["before"])
    after = "(not set)" if change["is_gone"] else json.dumps(change["after"])
    return f"{change['key']}: {before} → {after}"


def adapters_table(adapters: Sequence[dict[str, Any]]) -> str:
    """One line an adapter under a line of titles."""
    rows = [
        (
            each["id"],
            each["status"],
            each["run_id"],
            str(each["step"]),
            _rate(each["evaluation"]),
            _time(each["created_at"]),
            each["model"],
        )
        for each in adapters
    ]
    return table([_ADAPTER_COLUMNS, *rows])


def _rate(evaluation: dict[str, Any] | None) -> str:
    if evaluation is None:
        return "-"
    return f"{evaluation['solved']}/{evaluation['n']} {evaluation['solve_rate']:.1%}"


def sweeps_table(sweeps: Sequence[dict[str, Any]]) -> str:
    """One line a sweep under a line of titles."""
    rows = [
        (
            each["id"],
            each["kind"],
            str(each["run_count"]),
            each["experiment_id"],
            _time(each["created_at"]),
            each["name"],
        )
        for each in sweeps
    ]
    return table([_SWEEP_COLUMNS, *rows])


def sweep_text(sweep: dict[str, Any]) -> str:
    """A sweep in two lines, then its runs: results beside the values of the sweep's keys."""
    counts = ", ".join(f"{count} {status}" for status, count in sweep["counts"].items())
    head = (
        f"{sweep['id']}  {sweep['name']}\n{counts}, at most {sweep['max_running_runs']} at a time"
    )
    rows = [
        (
            str(run["number"]),
            run["id"],
            run["status"],
            "-" if run["best_solve_rate"] is None else f"{run['best_solve_rate']:.1%}",
            *(json.dumps(run["values"][key]) for key in sweep["keys"]),
        )
        for run in sweep["runs"]
    ]
    return head + "\n" + table([("NO", "ID", "STATUS", "SOLVE RATE", *sweep["keys"]), *rows])


def plan_text(plan: dict[str, Any]) -> str:
    """Each config of a sweep that could be made, and what is wrong."""
    rows = [
        (
            str(run["number"]),
            "left out" if run["is_excluded"] else "ok" if run["ok"] else "error",
            "-" if run["gpus"] is None else str(run["gpus"]),
            run["name"],
        )
        for run in plan["items"]
    ]
    wrong = [f"error: {each['message']}" for each in plan["errors"]]
    total = f"{plan['total']} configs, {plan['run_count']} runs would be made"
    gpus = "unknown" if plan["cluster_gpus"] is None else plan["cluster_gpus"]
    total += f"; GPUs of cluster {plan['cluster']}: {gpus}"
    few = few_drawn(plan["wanted"], plan["total"])
    told = [total, few] if few else [total]
    return "\n".join([*told, table([("NO", "CHECK", "GPUS", "NAME"), *rows]), *wrong])


def few_drawn(wanted: int, total: int) -> str:
    """What is said where a random sweep has fewer configs than were asked for; else nothing."""
    if wanted <= total:
        return ""
    return f"only {total} different configs can be drawn, not {wanted}"


def evaluations_table(evaluations: Sequence[dict[str, Any]]) -> str:
    """One line an evaluation under a line of titles; episodes played, of all."""
    rows = [
        (
            each["id"],
            each["status"],
            f"{each['progress']['played']}/{each['progress']['total']}",
            each["eval_set"],
            _time(each["created_at"]),
            each["name"],
        )
        for each in evaluations
    ]
    return table([_EVALUATION_COLUMNS, *rows])


def evaluation_text(evaluation: dict[str, Any]) -> str:
    """Rates with their intervals, pass_at_1 under its own name, and what McNemar's test says."""
    rows = [("model", "solve rate", "pass_at_1", "without an answer")]
    for found in evaluation["results"]:
        rate, passed = "-", "-"
        if found["n"]:
            low, high = (100 * end for end in found["interval"])
            share = f"{100 * found['solve_rate']:.1f} % [{low:.0f}-{high:.0f}]"
            rate = f"{found['solved']}/{found['n']} {share}"
            passed = f"{100 * found['pass_at_1']:.1f} %"
        rows.append((found["model"], rate, passed, str(found["errors"])))
    said = [each["summary"] for each in evaluation["comparisons"]]
    head = f"{evaluation['id']} {evaluation['status']}: {evaluation['name']}"
    return "\n".join([head, *filter(None, [evaluation["status_reason"]]), table(rows), *said])


def users_table(users: Sequence[User]) -> str:
    """One line a user under a line of titles."""
    return table([_USER_COLUMNS, *(_user_row(user) for user in users)])


def clusters_table(clusters: Sequence[dict[str, Any]]) -> str:
    """One line a cluster under a line of titles."""
    rows = [
        (each["id"], each["kind"], each["status"], each["address"], each["name"])
        for each in clusters
    ]
    return table([_CLUSTER_COLUMNS, *rows])


def cluster_text(cluster: dict[str, Any]) -> str:
    """A cluster in some lines."""
    lines = [
        f"{cluster['id']}  {cluster['name']}",
        f"address     {cluster['address']}",
        f"credential  {cluster['credential']}",
        f"status      {cluster['status']}  {cluster['message']}".rstrip(),
        f"runs        {cluster['max_running_runs']} at a time",
        f"seen        {_moment(cluster['observed_at'])}",
    ]
    return "\n".join(lines)


def check_text(check: dict[str, Any]) -> str:
    """What a check found, a line each."""
    return "\n".join(
        f"{'ok' if each['ok'] else 'failed':<8}{each['name']:<12}{each['message']}"
        for each in check["checks"]
    )


def endpoints_table(endpoints: Sequence[Endpoint]) -> str:
    """One line an endpoint under a line of titles; latencies as the pages say them."""
    return table([_ENDPOINT_COLUMNS, *(_endpoint_row(each) for each in endpoints)])


def models_table(models: Sequence[EndpointModel]) -> str:
    """One line a model under a line of titles."""
    rows = [(each.id, each.parent or "-", str(each.max_model_len or "-")) for each in models]
    return table([_MODEL_COLUMNS, *rows])


def secrets_table(secrets: Sequence[Listed]) -> str:
    """One line a secret under a line of titles; no values."""
    rows = [
        (
            each.name,
            each.created_by,
            _time(each.changed_at.isoformat()),
            _time(each.last_used_at.isoformat() if each.last_used_at else None),
            "-" if each.config_count is None else str(each.config_count),
        )
        for each in secrets
    ]
    return table([_SECRET_COLUMNS, *rows])


def audit_table(rows: Sequence[AuditRow]) -> str:
    """One line an entry of the audit log under a line of titles."""
    return table([_AUDIT_COLUMNS, *(_audit_row(entry) for entry, _ in rows)])


def projects_table(projects: Sequence[Project], counts: Mapping[UUID, tuple[int, int]]) -> str:
    """One line a project under a line of titles; `counts` are members and runs by id."""
    rows = [
        (row.slug, *map(str, counts[row.id]), _time(row.created_at.isoformat()), row.name)
        for row in projects
    ]
    return table([_PROJECT_COLUMNS, *rows])


def members_table(members: Sequence[Member]) -> str:
    """One line a member under a line of titles."""
    rows = [
        (each.name, each.role + (", disabled" if each.is_disabled else ""), _time(str(each.since)))
        for each in members
    ]
    return table([_MEMBER_COLUMNS, *rows])


def tokens_table(tokens: Sequence[TokenEntry]) -> str:
    """One line a token under a line of titles."""
    return table([_TOKEN_COLUMNS, *(_token_row(entry) for entry in tokens)])


def run_text(run: dict[str, Any]) -> str:
    """A run in some lines: status, progress, attempts, metrics."""
    lines = [
        f"{run['id']}  {run['name']}",
        f"status      {run['status']}  {run['status_reason']}".rstrip(),
        f"step        {_step(run)}",
        f"cluster     {run['cluster'] or '-'}",
        f"created     {_moment(run['created_at'])}  by {run['owner']}",
        f"started     {_moment(run['started_at'])}",
        f"ended       {_moment(run['ended_at'])}",
    ]
    if run["queue_position"]:
        lines.append(f"queue       position {run['queue_position']}")
    for attempt in run["attempts"]:
        lines.append(f"attempt {attempt['number']}   {attempt['status']}")
        if attempt["failure"]:
            lines.append(
                f"            {attempt['failure']['class']}: {attempt['failure']['message']}"
            )
    lines += [
        f"{key}  last {_number(each['last'])}  best {_number(each['best'])}"
        for key, each in sorted(run["summary"].items())
    ]
    return "\n".join(lines)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns of even width; the first row holds their titles."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _user_row(user: User) -> tuple[str, ...]:
    role = "administrator" if user.is_admin else "member"
    shown = role if user.disabled_at is None else f"{role}, disabled"
    return user.name, shown, _time(user.created_at.isoformat())


def _endpoint_row(endpoint: Endpoint) -> tuple[str, ...]:
    seen, took = endpoint.observed_at, endpoint.latency_seconds
    return (
        endpoint.slug,
        endpoint.status,
        str(len(endpoint.models)),
        "-" if took is None else latency(took),
        _time(seen.isoformat() if seen else None),
        endpoint.base_url or "-",
        endpoint.name,
    )


def _audit_row(entry: AuditEntry) -> tuple[str, ...]:
    thing = f"{entry.object_kind} {entry.object_slug}"
    at = _time(entry.at.isoformat())
    return at, entry.actor, entry.address or "-", entry.action, entry.outcome.value, thing


def _token_row(entry: TokenEntry) -> tuple[str, ...]:
    token = entry.token
    times = [at.isoformat() if at else None for at in (token.expires_at, token.last_used_at)]
    shown = [_time(text) for text in times]
    place = (entry.project or "-", entry.user_name or "-")
    return token.slug, token.prefix, token.scope, *place, *shown, token.name


def _row(run: dict[str, Any]) -> tuple[str, ...]:
    rate = run["summary"].get(HERO_KEY, {}).get("best")
    shown = "-" if rate is None else f"{rate:.1%}"
    return run["id"], run["status"], _step(run), shown, _time(run["created_at"]), run["name"]


def _step(run: dict[str, Any]) -> str:
    progress = run["progress"]
    if progress["step"] is None:
        return "-"
    total = "" if run["origin"] == "external" else f"/{progress['total_steps'] or '?'}"
    return f"{progress['step']}{total}"


def _time(text: str | None) -> str:
    return "-" if text is None else text[:19].replace("T", " ")


def _moment(text: str | None) -> str:
    """A time in a line that has no title to name its zone."""
    return "-" if text is None else f"{_time(text)} UTC"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
