"""Turns sweeps, planned or made, into what the pages show. No database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.errors import Problem
from app.experiments.contexts import ExperimentHead, Link
from app.models import Cluster, Config, Experiment, Run, RunStatus, Sweep
from app.recipes.model import JOB, Recipe
from app.recipes.numbers import find_whole_number
from app.runs.states import ENDED
from app.sweeps import naming, service
from app.sweeps.contexts import (
    Choice,
    KeyFields,
    Preview,
    PreviewError,
    PreviewRow,
    SweepFormPage,
    SweepPage,
    SweepRow,
    SweepRunRow,
)
from app.sweeps.draft import (
    CLUSTER,
    CONFIGS,
    COUNT,
    EXPLICIT,
    GRID,
    LIMIT,
    NAME,
    PREVIEWED,
    RANDOM,
    SEED,
    Draft,
    KeyRow,
)
from app.sweeps.planning import Plan, PlannedRun
from app.sweeps.texts import LOG_UNIFORM, UNIFORM, VALUES, WHOLE
from app.web.filters import sentence
from app.web.forms import FormField, control_id, group_problems
from app.web.run_table import RunRow

_KINDS = (
    (GRID, "Grid", "Every combination of the values."),
    (RANDOM, "Random", "Draws from values and ranges; the same seed draws the same again."),
    (EXPLICIT, "List", "One config a line."),
)
_HOW = {
    VALUES: "values",
    WHOLE: "whole numbers from … to …",
    UNIFORM: "numbers from … to …",
    LOG_UNIFORM: "numbers from … to …, log-uniform",
}
BEST = "best"


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What the form is about: a version of an experiment, and the clusters to choose from."""

    experiment: Experiment
    head: ExperimentHead
    config: Config
    recipe: Recipe
    clusters: Sequence[Cluster]
    cluster: Cluster


def form_page(
    basis: Basis, draft: Draft, problems: Sequence[Problem] = (), plan: Plan | None = None
) -> SweepFormPage:
    """The form with what was typed; with a plan, what it would make."""
    head, config, recipe = basis.head, basis.config, basis.recipe
    by_field = _by_field(problems)
    rows = _rows(draft, by_field)
    configs, draws, fields = _fields(draft, by_field, basis)
    named = [*(r.key for r in rows), configs, *draws, *fields]
    at_key = {row.key.value.strip(): row.key.name for row in rows if row.key.value.strip()}
    said = {at_key.get(field, field): text for field, text in by_field.items()}
    assert config.version is not None
    return SweepFormPage(
        head=head,
        version=config.version,
        recipe=recipe.title,
        kinds=[Choice(v, title, about, draft.kind == v) for v, title, about in _KINDS],
        rows=rows,
        known_keys=[
            (key, field.label) for key, field in recipe.fields().items() if not key.startswith(JOB)
        ],
        configs=configs,
        draw_fields=draws,
        fields=fields,
        problems=[
            # What is wrong with single configs stands in the preview.
            ("preview" if text == said.get("runs") else field, text)
            for field, text in group_problems(said, named)
        ],
        preview=preview(plan, basis, draft) if plan is not None and plan.runs else None,
    )


def preview(plan: Plan, basis: Basis, draft: Draft) -> Preview:
    names = naming.short_names(list(plan.differing or plan.keys))
    places = _Places(basis, draft)
    most = service.cluster_gpus(basis.cluster)
    rows = [_preview_row(run, list(names), places, most) for run in plan.runs]
    return Preview(
        keys=[(short, key) for key, short in names.items()],
        rows=rows,
        total=plan.total,
        run_count=len(plan.chosen),
        error_count=sum(bool(row.errors) and not row.is_excluded for row in rows),
        digest=draft.text(PREVIEWED),
        cluster=_cluster_note(plan, basis.cluster, draft),
        note=_note(plan),
        can_launch=not plan.all_problems,
    )


def sweep_row(sweep: Sweep, counts: Mapping[RunStatus, int]) -> SweepRow:
    return SweepRow(
        slug=sweep.slug,
        name=sweep.name,
        kind=sweep.kind,
        version=sweep.config.version,
        keys=sweep.keys,
        run_count=sum(counts.values()),
        counts=[(status.value, counts[status]) for status in RunStatus if status in counts],
        owner=sweep.owner,
        created_at=sweep.created_at,
    )


def sweep_page(
    sweep: Sweep,
    counts: Mapping[RunStatus, int],
    found: Sequence[tuple[Run, RunRow]],
    *,
    order: str,
    can_write: bool,
) -> SweepPage:
    """`order` is `best`, or anything else for the order of the numbers."""
    points = [run.config.values for run, _ in found]
    differing = naming.differing(points, sweep.keys) or sweep.keys
    names = naming.short_names(differing)
    top = max((row.best.rate for _, row in found if row.best), default=None)
    rows = [_run_row(run, row, differing, top) for run, row in found]
    if order == BEST:
        rows.sort(key=lambda row: -row.run.best.rate if row.run.best else 1)
    url = f"/sweeps/{sweep.slug}"
    return SweepPage(
        row=sweep_row(sweep, counts),
        experiment_slug=sweep.experiment.slug,
        experiment_name=sweep.experiment.name,
        project_slug=sweep.experiment.project.slug,
        project_name=sweep.experiment.project.name,
        max_running_runs=sweep.max_running_runs,
        keys=[(short, key) for key, short in names.items()],
        rows=rows,
        orders=[
            Link("As made", url, is_current=order != BEST),
            Link("Best first", f"{url}?sort={BEST}", is_current=order == BEST),
        ],
        live_url=f"{url}?sort={BEST}" if order == BEST else url,
        can_stop=can_write and any(status not in ENDED for status in counts),
        can_resume=can_write and any(s in ENDED and s is not RunStatus.SUCCEEDED for s in counts),
    )


def _rows(draft: Draft, problems: Mapping[str, str]) -> list[KeyFields]:
    return [_key_fields(n, row, problems) for n, row in enumerate(draft.shown_rows)]


def _key_fields(n: int, row: KeyRow, problems: Mapping[str, str]) -> KeyFields:
    number, problem = n + 1, problems.get(row.key.strip(), "") if row.key.strip() else ""
    how = f"How key {number} varies"
    return KeyFields(
        number=number,
        key=FormField(f"key-{n}", f"Key {number}", "text", row.key, problem=problem),
        how=FormField(f"how-{n}", how, "choice", row.how, choices=list(_HOW), labels=_HOW),
        values=FormField(f"values-{n}", f"Values of key {number}", "text", row.values),
    )


def _fields(
    draft: Draft, problems: Mapping[str, str], basis: Basis
) -> tuple[FormField, list[FormField], list[FormField]]:
    def field(name: str, label: str, kind: str, help_text: str) -> FormField:
        text, problem = draft.text(name), problems.get(name, "")
        return FormField(name, label, kind, text, help=help_text, problem=problem)

    configs = field(
        CONFIGS, "Configs", "prose", "One a line, as in trainer.seed=1 trainer.epochs=20."
    )
    draws = [
        field(COUNT, "How many", "number", "Different configs, at most 200."),
        field(SEED, "Seed of the draws", "number", "Not the seed of the training."),
    ]
    fields = [
        field(NAME, "Name", "text", "That of the experiment if left empty."),
        FormField(
            CLUSTER,
            "Cluster",
            "choice",
            basis.cluster.slug,
            help="Where all runs go. What it has is compared with what each config asks for.",
            choices=[each.slug for each in basis.clusters],
            labels={each.slug: _cluster_words(each) for each in basis.clusters},
            problem=problems.get(CLUSTER, ""),
        ),
        field(
            LIMIT,
            "Runs at a time",
            "number",
            "Others of the sweep wait; the cluster's own limit counts, too.",
        ),
    ]
    return configs, draws, fields


def _by_field(problems: Sequence[Problem]) -> dict[str, str]:
    """Problems of single runs are said in the preview; one line here stands for all of them."""
    found: dict[str, str] = {}
    wrong = {each.field.split(".")[1] for each in problems if each.field.startswith("runs.")}
    for each in problems:
        if not each.field.startswith("runs."):
            found.setdefault(each.field, sentence(each.message))
    if wrong:
        what = "1 config has errors" if len(wrong) == 1 else f"{len(wrong)} configs have errors"
        found["runs"] = f"{what}: correct the values, or leave them out below."
    return found


class _Places:
    """Where a key is corrected: its row of the form, the list, or the version in the editor."""

    def __init__(self, basis: Basis, draft: Draft) -> None:
        self._config, self._slug = basis.config, basis.experiment.slug
        self._is_list = draft.kind == EXPLICIT
        rows = enumerate(draft.rows)
        self._rows = {} if self._is_list else {row.key.strip(): n for n, row in rows}

    def of(self, key: str, run: PlannedRun) -> Link:
        if key == CLUSTER:
            return Link("Cluster", f"#{control_id(CLUSTER)}")
        if key in self._rows:
            return Link(key, f"#{control_id(f'key-{self._rows[key]}')}")
        if self._is_list and key in run.overrides:
            return Link(key, f"#{control_id(CONFIGS)}")
        editor = f"/runs/new?from={self._slug}&version={self._config.version}"
        return Link(key, f"{editor}#{control_id(key)}")


def _preview_row(
    run: PlannedRun, keys: Sequence[str], places: _Places, most: int | None
) -> PreviewRow:
    return PreviewRow(
        number=run.number,
        name=run.name,
        cells=[
            naming.value_text(run.overrides[key]) if key in run.overrides else "–" for key in keys
        ],
        gpus=run.gpus,
        is_too_large=run.gpus is not None and most is not None and run.gpus > most,
        errors=[
            PreviewError(
                each.rule,
                sentence(f"{each.message}: {each.fix}" if each.fix else each.message),
                [places.of(key, run) for key in each.fields if key],
            )
            for each in run.errors
        ],
        warnings=[sentence(each.message) for each in run.warnings],
        is_excluded=run.is_excluded,
    )


def _cluster_words(cluster: Cluster) -> str:
    count = service.cluster_gpus(cluster)
    gpus = "GPUs not known yet" if count is None else f"{_counted(count)}"
    return f"{cluster.name} ({cluster.status}, {gpus})"


def _cluster_note(plan: Plan, cluster: Cluster, draft: Draft) -> str:
    """GPUs of the cluster against those of the largest runs, alone and as many as run at a time."""
    count = service.cluster_gpus(cluster)
    has = "was not seen yet" if count is None else f"has {_counted(count)}"
    limit = find_whole_number(draft.text(LIMIT).strip()) or 1
    wanted = sorted((run.gpus or 0 for run in plan.chosen), reverse=True)[:limit]
    if not any(wanted):
        return f"{cluster.name} {has}; no config asks for any."
    if count is not None and wanted[0] > count:
        return f"{cluster.name} {has}; the largest config asks for {_counted(wanted[0])}."
    asked = f"{len(wanted)} at a time ask for up to {_counted(sum(wanted))}"
    waits = "; what does not fit waits" if count is not None and sum(wanted) > count else ""
    return f"{cluster.name} {has}. {asked}{waits}."


def _counted(gpus: int) -> str:
    return "no GPU" if gpus == 0 else "1 GPU" if gpus == 1 else f"{gpus} GPUs"


def _note(plan: Plan) -> str:
    if plan.is_cut:
        return f"The first {len(plan.runs)} of {plan.total:,} configs are shown."
    if plan.wanted > plan.total:
        return f"Only {plan.total} different configs can be drawn, not {plan.wanted}."
    return ""


def _run_row(run: Run, row: RunRow, keys: Sequence[str], top: float | None) -> SweepRunRow:
    assert run.sweep_number is not None
    return SweepRunRow(
        number=run.sweep_number,
        run=row,
        cells=[naming.value_text(run.config.values.get(key)) for key in keys],
        is_best=top is not None and row.best is not None and row.best.rate == top,
    )
