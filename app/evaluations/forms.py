"""The forms of a new evaluation and a new eval set: read as typed, refused with all kept."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from starlette.datastructures import FormData

from app.endpoints.offered import ModelGroup
from app.episodes.service import MAX_TURNS
from app.episodes.words import environment_words
from app.errors import Problem
from app.evaluations import service, sets
from app.evaluations.contexts import (
    EvalSetRow,
    EvalSetsPage,
    ModelChoice,
    ModelChoices,
    NewEvaluationPage,
)
from app.evaluations.seeds import parse_seeds, seeds_text
from app.evaluations.service import ModelRef, Request
from app.evaluations.sets import NewSet
from app.maze.eval_sets import EASY_SOLVABLE_15, EvalSet
from app.maze.generate import MAX_SIZE, MIN_SIZE, SIZES
from app.maze.parse import Dialect
from app.recipes.numbers import find_number, find_whole_number
from app.web.filters import sentence
from app.web.forms import FormField, group_problems, looked_up, typed_values
from app.web.paging import Pager

MODELS, EVAL_SET, NAME, PROJECT = "models", "eval_set", "name", "project"
TEMPERATURE, SAMPLES, CONCURRENCY = "temperature", "samples", "concurrency"
ENV, HEIGHT, WIDTH, SEEDS = "env_id", "height", "width", "seeds"
TURNS, DIALECT = "max_turns", "dialect"
CUSTOM = "custom"
_NUMBER = "this is no number"
_WHOLE = "this is no whole number"
_SIZE_HELP = f"Of a custom environment: odd, {MIN_SIZE} to {MAX_SIZE}."
_ENVIRONMENTS = {each: environment_words(each) for each in SIZES} | {CUSTOM: "Custom"}
_DIALECTS: dict[str, str] = {
    Dialect.KEYWORD: "Keywords, as in <action>right</action>",
    Dialect.TUPLE: "Tuples",
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A form's values as typed. `models` are the ticked ones."""

    values: Mapping[str, str] = field(default_factory=dict)
    models: Sequence[str] = ()

    @classmethod
    def of(cls, form: FormData) -> "Draft":
        ticked = [looked_up(value) for value in form.getlist(MODELS) if isinstance(value, str)]
        return cls(typed_values(form), ticked)

    def text(self, name: str) -> str:
        return looked_up(self.values.get(name, _DEFAULTS.get(name, "")))


_DEFAULTS = {
    EVAL_SET: EASY_SOLVABLE_15.name,
    TEMPERATURE: "0",
    SAMPLES: "1",
    CONCURRENCY: str(service.DEFAULT_CONCURRENCY),
    ENV: "maze_2d/easy",
    HEIGHT: "15",
    WIDTH: "15",
    TURNS: "15",
    DIALECT: Dialect.KEYWORD.value,
}


def wanted_models(draft: Draft) -> list[ModelRef]:
    """`endpoint model` of each ticked box."""
    parts = [each.partition(" ") for each in draft.models]
    return [ModelRef(endpoint, model) for endpoint, _, model in parts]


def request_of(draft: Draft, chosen: EvalSet) -> tuple[Request | None, list[Problem]]:
    """The evaluation that is asked for, or why it is none."""
    numbers = _Numbers(draft)
    temperature = numbers.any(TEMPERATURE)
    samples, concurrency = numbers.whole(SAMPLES), numbers.whole(CONCURRENCY)
    if temperature is None or samples is None or concurrency is None:
        return None, _ticked_problems(draft) + numbers.problems
    if problems := _ticked_problems(draft):
        return None, problems
    request = Request(
        models=wanted_models(draft),
        eval_set=chosen,
        name=draft.text(NAME).strip() or None,
        temperature=temperature,
        samples=samples,
        concurrency=concurrency,
    )
    return request, []


def set_of(draft: Draft) -> tuple[NewSet | None, list[Problem]]:
    """The eval set that is asked for, or everything that keeps it from being one."""
    typed = _SetValues(draft)
    wanted = NewSet(
        name=draft.text(NAME).strip(),
        env_id=typed.env_id(),
        seeds=typed.seeds(),
        max_turns=typed.max_turns(),
        dialect=typed.dialect(),
    )
    problems = typed.problems + sets.problems_of(wanted)
    return (None if problems else wanted), problems


def new_page(
    draft: Draft,
    *,
    groups: Sequence[ModelGroup],
    eval_sets: Sequence[EvalSet],
    projects: Sequence[tuple[str, str]],
    problems: Sequence[Problem] = (),
) -> NewEvaluationPage:
    by_field = _by_field(problems)
    fields = _evaluation_fields(draft, by_field, eval_sets, projects)
    named = FormField(MODELS, "Models", "text", "")
    return NewEvaluationPage(
        groups=_choices(draft, groups),
        models_problem=by_field.get(MODELS, ""),
        fields=fields,
        problems=group_problems(by_field, [named, *fields]),
    )


def sets_page(
    draft: Draft,
    *,
    rows: Sequence[EvalSetRow],
    pager: Pager,
    projects: Sequence[tuple[str, str]],
    problems: Sequence[Problem] = (),
) -> EvalSetsPage:
    by_field = _by_field(problems)
    fields = _set_fields(draft, by_field, projects) if projects else []
    return EvalSetsPage(
        rows=list(rows), pager=pager, fields=fields, problems=group_problems(by_field, fields)
    )


def set_row(found: EvalSet, *, project: str = "", owner: str = "", new_url: str) -> EvalSetRow:
    return EvalSetRow(
        name=found.name,
        environment=environment_words(found.env_id),
        seeds=seeds_text(found.seeds),
        count=len(found.seeds),
        max_turns=found.max_turns,
        dialect=found.dialect,
        solvable=found.solvable_count,
        project=project,
        owner=owner,
        new_url=new_url,
    )


def _ticked_problems(draft: Draft) -> list[Problem]:
    if 1 <= len(draft.models) <= service.MAX_MODELS:
        return []
    return [Problem(MODELS, "count", f"tick 1 to {service.MAX_MODELS} models")]


class _Numbers:
    """Reads numbers and collects what is none."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self.problems: list[Problem] = []

    def any(self, name: str) -> float | None:
        found = find_number(self._draft.text(name))
        if found is None:
            self.problems.append(Problem(name, "number", _NUMBER))
        return found

    def whole(self, name: str) -> int | None:
        found = find_whole_number(self._draft.text(name))
        if found is None:
            self.problems.append(Problem(name, "number", _WHOLE))
        return found


class _SetValues:
    """Reads the values of a new set; one that cannot be read is told and stands for a good one."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self.problems: list[Problem] = []

    def env_id(self) -> str:
        """As chosen; `maze_2d/HEIGHTxWIDTH` of a custom one."""
        chosen = self._draft.text(ENV).strip()
        if chosen != CUSTOM:
            return chosen
        height, width = self._size(HEIGHT), self._size(WIDTH)
        return f"maze_2d/{height or MIN_SIZE}x{width or MIN_SIZE}"

    def seeds(self) -> list[int]:
        try:
            return parse_seeds(self._draft.text(SEEDS))
        except ValueError as error:
            self._tell(SEEDS, "seeds", str(error))
            return [0]

    def max_turns(self) -> int:
        found = find_whole_number(self._draft.text(TURNS))
        if found is None:
            self._tell(TURNS, "number", _WHOLE)
        return 1 if found is None else found

    def dialect(self) -> Dialect:
        text = self._draft.text(DIALECT)
        if text in list(Dialect):
            return Dialect(text)
        self._tell(DIALECT, "dialect", "there is no such dialect")
        return Dialect.KEYWORD

    def _size(self, name: str) -> int | None:
        found = find_whole_number(self._draft.text(name))
        if found is None or found % 2 == 0 or not MIN_SIZE <= found <= MAX_SIZE:
            self._tell(name, "size", f"this is no odd number from {MIN_SIZE} to {MAX_SIZE}")
            return None
        return found

    def _tell(self, name: str, rule: str, message: str) -> None:
        self.problems.append(Problem(name, rule, message))


def _choices(draft: Draft, groups: Sequence[ModelGroup]) -> list[ModelChoices]:
    """A model is ticked by its value, or by its name alone, as addresses of other pages say it."""
    ticked = set(draft.models)
    found = []
    for place, group in enumerate(groups):
        options = [
            ModelChoice(
                id=f"model-{place}-{number}",
                value=option.value,
                label=option.label,
                is_chosen=bool(ticked & {option.value, option.label}),
            )
            for number, option in enumerate(group.options)
        ]
        found.append(ModelChoices(group.title, options))
    return found


def _evaluation_fields(
    draft: Draft,
    problems: Mapping[str, str],
    eval_sets: Sequence[EvalSet],
    projects: Sequence[tuple[str, str]],
) -> list[FormField]:
    make = _Fields(draft, problems)
    labels = {each.name: f"{each.name}: {_words(each)}" for each in eval_sets}
    return [
        make.choice(EVAL_SET, "Eval set", list(labels), labels),
        make.field(TEMPERATURE, "Temperature", "number", "0 always takes the likeliest token."),
        make.field(SAMPLES, "Episodes a maze", "number", "More than one needs a temperature."),
        make.field(CONCURRENCY, "At a time", "number", "Most episodes under way at one endpoint."),
        make.field(NAME, "Name", "text", "The models and the set if left empty."),
        *make.project(projects),
    ]


def _set_fields(
    draft: Draft, problems: Mapping[str, str], projects: Sequence[tuple[str, str]]
) -> list[FormField]:
    make = _Fields(draft, problems)
    return [
        make.field(NAME, "Name", "text", "Small letters, digits, dots and dashes."),
        make.choice(ENV, "Environment", list(_ENVIRONMENTS), _ENVIRONMENTS),
        make.field(HEIGHT, "Height", "number", _SIZE_HELP),
        make.field(WIDTH, "Width", "number", _SIZE_HELP),
        make.field(SEEDS, "Seeds", "text", "As in 0-63, 70, 75."),
        make.field(TURNS, "Turn limit", "number", f"Turns of an episode, {MAX_TURNS} at most."),
        make.choice(DIALECT, "Dialect", list(_DIALECTS), _DIALECTS),
        *make.project(projects),
    ]


@dataclass(frozen=True, slots=True)
class _Fields:
    draft: Draft
    problems: Mapping[str, str]

    def field(self, name: str, label: str, kind: str, help_text: str = "") -> FormField:
        text, problem = self.draft.text(name), self.problems.get(name, "")
        return FormField(name, label, kind, text, help=help_text, problem=problem)

    def choice(
        self, name: str, label: str, choices: Sequence[str], labels: Mapping[str, str]
    ) -> FormField:
        text, problem = self.draft.text(name), self.problems.get(name, "")
        return FormField(
            name, label, "choice", text, choices=choices, labels=labels, problem=problem
        )

    def project(self, projects: Sequence[tuple[str, str]]) -> list[FormField]:
        """Only where there are several to choose from."""
        if len(projects) < 2:
            return []
        return [self.choice(PROJECT, "Project", [slug for slug, _ in projects], dict(projects))]


def _words(found: EvalSet) -> str:
    return (
        f"{len(found.seeds)} mazes, {found.max_turns} turns, {found.dialect} dialect, "
        f"{found.solvable_count} solvable"
    )


def _by_field(problems: Sequence[Problem]) -> dict[str, str]:
    """The first problem of each field; `models.0` is said of the models."""
    found: dict[str, str] = {}
    for each in problems:
        found.setdefault(re.sub(r"\..*", "", each.field), sentence(each.message))
    return found
