"""From a draft and what was found out about it to the page."""

from collections.abc import Mapping
from enum import StrEnum

from app.access.permissions import Permission
from app.editor.contexts import (
    DifferenceRow,
    EditorField,
    EditorGroup,
    EditorPage,
    PackageFile,
    RecipeCard,
    ViewTab,
)
from app.editor.draft import (
    AGAINST,
    CLUSTER,
    EXPERIMENT,
    NAME,
    OF,
    OTHER_KEY,
    OTHER_VALUE,
    PROJECT,
    RECIPE,
    VIEW,
    YAML,
    Draft,
)
from app.editor.look import Look, project_slug
from app.editor.panel import messages, panel_of
from app.editor.words import change_row, shown
from app.models import Cluster
from app.recipes import service as recipes
from app.recipes.model import Field, FieldType, Group, Recipe
from app.web.deps import Viewer
from app.web.forms import FormField, as_text, group_problems

_KINDS = {FieldType.BOOL: "flag", FieldType.INT: "number", FieldType.FLOAT: "number"}
# A form of more fields than these is folded where nothing asks for a look.
_FEW = 45


class View(StrEnum):
    """The views of a config."""

    FORM = "form"
    YAML = "yaml"
    CHANGES = "changes"
    PACKAGE = "package"

    @property
    def path(self) -> str:
        return "/runs/new" if self is View.FORM else f"/runs/new/{self}"

    @classmethod
    def of(cls, path: str) -> "View":
        """The view at a path; the form for any other."""
        return next((view for view in cls if view.path == path), cls.FORM)


_TITLES = {
    View.FORM: "Form",
    View.YAML: "YAML",
    View.CHANGES: "Changes",
    View.PACKAGE: "Job package",
}


def editor_page(
    draft: Draft,
    look: Look,
    viewer: Viewer,
    view: View,
    *,
    refused: str = "",
    problems: Mapping[str, str] | None = None,
) -> EditorPage:
    """`problems` by field are why what was asked for was `refused`, as `EditorPage` says it."""
    recipe = draft.recipe
    said = messages(look.findings.errors)
    problems = dict(problems or {})
    naming = _naming(draft, look, viewer, {**said, **problems})
    groups = [_group(group, draft, look, {**said, **problems}) for group in recipe.groups]
    controls = naming + [each.control for group in groups for each in group.fields]
    rendered = recipes.render(recipe, look.values) if look.values is not None else None
    is_form = view is View.FORM
    return EditorPage(
        view=view,
        action=View.FORM.path,
        cards=[_card(each, is_chosen=each is recipe) for each in recipes.list_all()],
        tabs=[ViewTab(_TITLES[each], each.path, each is view) for each in View],
        recipe=recipe.name,
        summary=recipe.summary,
        naming=naming,
        hidden=_hidden(draft, view),
        panel=panel_of(draft, look, view),
        problems=group_problems(problems, controls),
        refused=refused,
        groups=groups if is_form else [],
        takes_others=is_form and (recipe.tree is not None or bool(draft.others)),
        others_open=bool(draft.others),
        yaml=draft.yaml,
        yaml_problem=str(draft.fault) if draft.fault else "",
        longest_yaml=recipes.LONGEST_DOCUMENT,
        changes=[change_row(recipe, each) for each in look.changes],
        previous_changes=[change_row(recipe, each) for each in look.previous.since]
        if look.previous
        else [],
        previous_name=f"version {look.previous.against} of {look.previous.name}"
        if look.previous
        else "",
        is_newest=look.previous is None or look.previous.against == look.previous.version,
        against=_against(look),
        differences=_differences(recipe),
        follows=recipe.follows,
        files=_files(rendered.files) if rendered else [],
        submit_command=rendered.submit_command if rendered else "",
    )


def _against(look: Look) -> FormField | None:
    """The versions to compare with, newest first; None where there is no other to choose."""
    if look.previous is None or look.previous.version < 2:
        return None
    return FormField(
        name=AGAINST,
        label="Version",
        kind="choice",
        value=str(look.previous.against),
        choices=[str(number) for number in range(look.previous.version, 0, -1)],
    )


def _card(recipe: Recipe, *, is_chosen: bool) -> RecipeCard:
    return RecipeCard(
        name=recipe.name,
        title=recipe.title,
        summary=recipe.summary,
        needs=recipe.needs,
        version=recipe.version,
        is_chosen=is_chosen,
    )


def _hidden(draft: Draft, view: View) -> list[tuple[str, str]]:
    """What the view does not show: on the YAML view its text stands for all values."""
    hidden = [(RECIPE, draft.recipe.name), (VIEW, view), (OF, draft.naming.get(OF, ""))]
    if view is not View.CHANGES and draft.naming.get(AGAINST):
        hidden.append((AGAINST, draft.naming[AGAINST]))
    if view is not View.YAML:
        hidden.append((YAML, draft.yaml))
    if view in (View.CHANGES, View.PACKAGE):
        hidden += list(draft.texts.items())
        hidden += [pair for k, v in draft.others for pair in ((OTHER_KEY, k), (OTHER_VALUE, v))]
    return hidden


def _group(group: Group, draft: Draft, look: Look, problems: Mapping[str, str]) -> EditorGroup:
    changed = {each.key for each in look.changes}
    cautions = messages(look.findings.warnings)
    fields = [
        EditorField(
            control=_control(each, draft, problems.get(each.key, "")),
            default=shown(each.default),
            is_changed=each.key in changed,
            caution="" if each.key in problems else cautions.get(each.key, ""),
        )
        for each in group.fields
    ]
    changed_count = sum(each.is_changed for each in fields)
    problem_count = sum(bool(each.control.problem) for each in fields)
    is_first = group is draft.recipe.groups[0]
    return EditorGroup(
        title=group.title,
        fields=fields,
        is_open=bool(
            is_first or changed_count or problem_count or len(draft.recipe.fields()) <= _FEW
        ),
        changed_count=changed_count,
        problem_count=problem_count,
    )


def _control(each: Field, draft: Draft, problem: str) -> FormField:
    return FormField(
        name=each.key,
        label=each.label,
        kind=_kind(each),
        value=draft.texts.get(each.key, as_text(each.default)),
        help=each.help,
        choices=_choices(each, draft),
        problem=problem,
    )


def _kind(each: Field) -> str:
    if each.choices:
        return "choice"
    return "code" if each.is_multiline else _KINDS.get(each.type, "text")


def _choices(each: Field, draft: Draft) -> tuple[str, ...]:
    """With what was typed, though it be no choice: nothing is changed behind one's back."""
    typed = draft.texts.get(each.key)
    odd = typed is not None and each.choices and typed not in each.choices
    return (*each.choices, typed) if odd and typed else each.choices


def _naming(
    draft: Draft, look: Look, viewer: Viewer, problems: Mapping[str, str]
) -> list[FormField]:
    return [
        *_project(draft, viewer, problems),
        FormField(
            name=EXPERIMENT,
            label="Experiment",
            kind="text",
            value=draft.naming.get(EXPERIMENT, ""),
            help="The question that its runs answer. A new name makes a new one.",
            problem=problems.get(EXPERIMENT, ""),
            placeholder=draft.recipe.name,
        ),
        FormField(
            name=NAME,
            label="Run name",
            kind="text",
            value=draft.naming.get(NAME, ""),
            help="Left empty, it takes the experiment's.",
            problem=problems.get(NAME, ""),
        ),
        FormField(
            name=CLUSTER,
            label="Cluster",
            kind="choice",
            value=look.cluster.slug,
            help="Where the run goes. What it has is compared with what the config asks for.",
            choices=[each.slug for each in look.clusters],
            labels={each.slug: _cluster_words(each) for each in look.clusters},
            problem=problems.get(CLUSTER, ""),
        ),
    ]


def _cluster_words(cluster: Cluster) -> str:
    return f"{cluster.name} ({cluster.status})"


def _project(draft: Draft, viewer: Viewer, problems: Mapping[str, str]) -> list[FormField]:
    """Asked only where there is a choice."""
    writable = [each for each in viewer.projects if viewer.may(Permission.WRITE, each.project_id)]
    if len(writable) < 2 and PROJECT not in problems:
        return []
    return [
        FormField(
            name=PROJECT,
            label="Project",
            kind="choice",
            value=project_slug(viewer, draft),
            help="Its members see the run.",
            choices=[each.slug for each in writable],
            labels={each.slug: each.name for each in writable},
            problem=problems.get(PROJECT, ""),
        )
    ]


def _differences(recipe: Recipe) -> list[DifferenceRow]:
    fields = recipe.fields()
    return [
        DifferenceRow(
            key=each.key,
            theirs="not set" if each.theirs is None else shown(each.theirs),
            ours=shown(fields[each.key].default) if each.key in fields else "",
            reason=each.reason,
        )
        for each in recipe.differences
    ]


def _files(files: Mapping[str, str]) -> list[PackageFile]:
    return [
        PackageFile(
            name=name,
            text=text,
            size=len(text.encode()),
            url=f"{View.PACKAGE.path}/{name}",
            is_open=number == 0,
        )
        for number, (name, text) in enumerate(files.items())
    ]
