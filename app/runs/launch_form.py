"""The fields of the new-run form and what was typed into them. No database."""

from collections.abc import Mapping, Sequence
from statistics import median

from app.access.service import Membership
from app.errors import Invalid
from app.models import Run
from app.projects.service import DEFAULT
from app.recipes import service as recipes
from app.recipes.model import Field, FieldType, Recipe
from app.runs.contexts import AdmissionPart, FormGroup, NewRunPage, RecipeCard
from app.web.filters import duration, sentence
from app.web.forms import FormField, as_text, group_problems

Typed = Mapping[str, str]
"""Texts by field name, as typed."""

RECIPE, PROJECT, EXPERIMENT, NAME = "recipe", "project", "experiment", "name"
_OWN = frozenset({RECIPE, PROJECT, EXPERIMENT, NAME})
_STEPS = "trainer.max_training_steps"
_KINDS = {FieldType.BOOL: "flag", FieldType.INT: "number", FieldType.FLOAT: "number"}


def form_page(
    recipe: Recipe,
    typed: Typed,
    problems: Mapping[str, str],
    admission: AdmissionPart,
    projects: Sequence[Membership],
) -> NewRunPage:
    """The form with what was typed, else the recipe's defaults; `problems` by field name.

    `projects` are those that a run may go into.
    """
    naming = _project(projects, typed, problems) + _naming(recipe, typed, problems)
    groups = [
        FormGroup(group.title, [_field(f, typed, problems) for f in group.fields])
        for group in recipe.groups
    ]
    fields = naming + [field for group in groups for field in group.fields]
    return NewRunPage(
        recipes=[
            RecipeCard(r.name, r.title, r.summary, r.version, r.name == recipe.name)
            for r in recipes.list_all()
        ],
        naming=naming,
        groups=groups,
        problems=group_problems(problems, fields),
        warnings=admission.warnings,
        cluster=admission.cluster,
        expected=admission.expected,
        needs=admission.needs,
    )


def config_of(recipe: Recipe, typed: Typed) -> dict[str, object]:
    """The recipe's values as typed; a text that is no value stays for `recipes.validate`.

    Names that are not the recipe's are kept too, so that they are refused and not ignored.
    """
    return recipes.read_texts(recipe, {k: v for k, v in typed.items() if k not in _OWN})


def problems_by_field(error: Invalid) -> dict[str, str]:
    """One sentence a field; problems of the same field are joined."""
    found: dict[str, str] = {}
    for problem in error.problems:
        before = f"{found[problem.field]} " if problem.field in found else ""
        found[problem.field] = before + sentence(problem.message)
    return found or {"": sentence(error.message)}


def expected_time(recipe: Recipe, typed: Typed, like: Sequence[Run]) -> str:
    """Steps times the median pace of finished runs of this recipe; empty where there are none."""
    paces = [run.seconds_per_step for run in like if run.seconds_per_step]
    field = recipe.fields().get(_STEPS)
    text = typed.get(_STEPS) or (as_text(field.default) if field else "")
    if not paces or not text.isdigit():
        return ""
    return f"about {duration(int(text) * median(paces))}"


def _project(
    projects: Sequence[Membership], typed: Typed, problems: Mapping[str, str]
) -> list[FormField]:
    """Asked only where there is a choice."""
    if len(projects) < 2 and PROJECT not in problems:
        return []
    slugs = [each.slug for each in projects]
    usual = DEFAULT if DEFAULT in slugs else slugs[0] if slugs else ""
    return [
        FormField(
            name=PROJECT,
            label="Project",
            kind="choice",
            value=typed.get(PROJECT, usual),
            help="Its members see the run.",
            choices=slugs,
            labels={each.slug: each.name for each in projects},
            problem=problems.get(PROJECT, ""),
        )
    ]


def _naming(recipe: Recipe, typed: Typed, problems: Mapping[str, str]) -> list[FormField]:
    return [
        FormField(
            name=EXPERIMENT,
            label="Experiment",
            kind="text",
            value=typed.get(EXPERIMENT, ""),
            help="The question that its runs answer. A new name makes a new one.",
            problem=problems.get(EXPERIMENT, ""),
            placeholder=recipe.name,
        ),
        FormField(
            name=NAME,
            label="Run name",
            kind="text",
            value=typed.get(NAME, ""),
            help="Left empty, it takes the experiment's.",
            problem=problems.get(NAME, ""),
        ),
    ]


def _field(field: Field, typed: Typed, problems: Mapping[str, str]) -> FormField:
    return FormField(
        name=field.key,
        label=field.label,
        kind="choice" if field.choices else _KINDS.get(field.type, "text"),
        value=typed.get(field.key, as_text(field.default)),
        help=field.help,
        choices=field.choices,
        problem=problems.get(field.key, ""),
    )
