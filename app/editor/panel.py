"""From what was found out about a draft to the panel beside it."""

import json
from collections.abc import Mapping, Sequence
from statistics import median

from app.editor.contexts import CheckPanel, Found, FoundPlace, GpuPart, OtherRow
from app.editor.draft import CLUSTER, EXPERIMENT, NAME, PROJECT, YAML, YAML_VIEW, Draft
from app.editor.look import STEPS, Look
from app.editor.words import hint
from app.recipes import service as recipes
from app.recipes.model import Finding, Recipe
from app.web.filters import duration, sentence
from app.web.forms import control_id

_NAMES = {
    PROJECT: "Project",
    EXPERIMENT: "Experiment",
    NAME: "Run name",
    CLUSTER: "Cluster",
    YAML: "YAML",
}


def panel_of(draft: Draft, look: Look, view: str) -> CheckPanel:
    """The panel on one of the views, whose anchors it leads to."""
    rows = other_rows(draft, look)
    places = _Places(draft, rows, view)
    found = look.findings
    total = None if look.gpus is None else sum(look.gpus.values())
    most = None if look.cluster_gpus is None else sum(look.cluster_gpus)
    return CheckPanel(
        errors=[_found("error", each, places) for each in found.errors],
        warnings=[_found("warning", each, places) for each in found.warnings],
        notes=[_found("note", each, places) for each in found.notes],
        gpus=total,
        parts=[GpuPart(part, count) for part, count in (look.gpus or {}).items()],
        cluster_name=look.cluster.name,
        cluster_gpus=most,
        is_too_large=total is not None and most is not None and total > most,
        is_refused=any(CLUSTER in each.fields for each in found.errors),
        needs=draft.recipe.needs,
        expected=_expected(draft.recipe, look),
        changed_keys=[
            control_id(each.key) for each in look.changes if each.key in draft.recipe.fields()
        ],
        changed_count=len(look.changes),
        previous=f"version {look.previous.version} of {look.previous.name}"
        if look.previous
        else "",
        previous_count=len(look.previous.changes) if look.previous else 0,
        cluster=look.line,
        rows=rows,
    )


def messages(found: Sequence[Finding]) -> dict[str, str]:
    """One sentence a key; what is said of the same key is joined."""
    texts: dict[str, str] = {}
    for each in found:
        said = sentence(f"{each.message}: {each.fix}" if each.fix else each.message)
        for key in each.fields:
            texts[key] = f"{texts[key]} {said}" if key in texts else said
    return texts


def other_rows(draft: Draft, look: Look) -> list[OtherRow]:
    """The rows of other keys, and one more to type into."""
    said = messages(look.findings.errors)
    rows = [
        OtherRow(number, key, value, _hint(draft.recipe, key), _said_of(key.strip(), said))
        for number, (key, value) in enumerate(draft.others, start=1)
    ]
    return [*rows, OtherRow(len(rows) + 1, "", "")]


class _Places:
    """Where a key stands on the view: a field of the form, a row, a line of the YAML."""

    def __init__(self, draft: Draft, rows: Sequence[OtherRow], view: str) -> None:
        self._fields = draft.recipe.fields()
        self._rows = {row.key.strip(): row for row in rows if row.key.strip()}
        self._lines = draft.document.places if draft.document and view == YAML_VIEW else {}
        self._is_yaml = view == YAML_VIEW

    def of(self, key: str) -> FoundPlace:
        words = self._fields[key].label if key in self._fields else _NAMES.get(key, key)
        if key == YAML:
            return FoundPlace(YAML, words, key)
        if self._is_yaml and key not in _NAMES:
            line = f" (line {self._lines[key].line})" if key in self._lines else ""
            return FoundPlace(YAML, f"{key}{line}", key)
        if key in self._fields or key in _NAMES:
            return FoundPlace(control_id(key), words, key)
        row = next((self._rows[each] for each in self._rows if _is_in(each, key)), None)
        return FoundPlace(f"other-{row.number}-value" if row else "", words, key)


def _said_of(key: str, said: Mapping[str, str]) -> str:
    return next((text for place, text in said.items() if _is_in(key, place)), "")


def _is_in(key: str, place: str) -> bool:
    """Whether a key is the place, or lies in the group that it is."""
    return key == place or (bool(place) and key.startswith(f"{place}."))


def _found(level: str, finding: Finding, places: _Places) -> Found:
    return Found(
        level=level,
        message=sentence(finding.message),
        fix=sentence(finding.fix or ""),
        places=[places.of(key) for key in finding.fields if key],
        fix_values=json.dumps(dict(finding.fix_values), ensure_ascii=False)
        if finding.fix_values
        else "",
    )


def _hint(recipe: Recipe, key: str) -> str:
    known = recipes.find_key(recipe, key.strip())
    return hint(known) if known else ""


def _expected(recipe: Recipe, look: Look) -> str:
    """Steps times the median pace of finished runs of this recipe; empty where there are none."""
    paces = [run.seconds_per_step for run in look.like if run.seconds_per_step]
    steps = look.config.get(STEPS, recipe.defaults().get(STEPS))
    if not paces or not isinstance(steps, int):
        return ""
    return f"about {duration(steps * median(paces))}"
