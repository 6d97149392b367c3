"""What the editor's pages are given: each field is read by a template of `templates/editor/`."""

from dataclasses import dataclass, field

from app.web.cluster_line import ClusterLine
from app.web.forms import FormField


@dataclass(frozen=True, slots=True)
class RecipeCard:
    """A recipe to choose."""

    name: str
    title: str
    summary: str
    needs: str
    version: int
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class ViewTab:
    """A view of the config, with a URL of its own."""

    title: str
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class EditorField:
    """One field of the form with its key in the config. `default` is the recipe's, as text.

    `caution` is a warning about it, where there is no problem.
    """

    control: FormField
    default: str
    is_changed: bool
    caution: str = ""


@dataclass(frozen=True, slots=True)
class EditorGroup:
    """Fields under one heading, folded where nothing in it asks for a look."""

    title: str
    fields: list[EditorField]
    is_open: bool
    changed_count: int
    problem_count: int


@dataclass(frozen=True, slots=True)
class OtherRow:
    """A key beyond the form. `hint` is its type and default as SkyRL has them."""

    number: int
    key: str
    value: str
    hint: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class FoundPlace:
    """What a finding is about: `anchor` leads to it on this view; `words` name it."""

    anchor: str
    words: str
    key: str


@dataclass(frozen=True, slots=True)
class Found:
    """A finding. `level` is `error`, `warning` or `note`; `fix_values` what its button sets."""

    level: str
    message: str
    fix: str
    places: list[FoundPlace]
    fix_values: str


@dataclass(frozen=True, slots=True)
class GpuPart:
    """GPUs that one part of the run asks for."""

    part: str
    count: int


@dataclass(frozen=True, slots=True)
class CheckPanel:
    """What was found out about the config, renewed while one types.

    `gpus` is None where the values do not tell, `cluster_gpus` where nobody knows the cluster's.
    """

    errors: list[Found]
    warnings: list[Found]
    notes: list[Found]
    gpus: int | None
    parts: list[GpuPart]
    cluster_name: str
    cluster_gpus: int | None
    is_too_large: bool
    is_refused: bool
    """The cluster does not run such configs, whatever their size."""
    needs: str
    expected: str
    """How long such a run takes, in words; empty where nobody knows."""
    changed_keys: list[str]
    """Ids of the controls whose values are not the recipe's."""
    changed_count: int
    previous: str
    """The version that a launch would follow, in words; empty where there is none."""
    previous_count: int
    cluster: ClusterLine
    rows: list[OtherRow]


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A key whose value is another than before."""

    key: str
    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """Where the recipe differs on purpose from the published one, and why."""

    key: str
    theirs: str
    ours: str
    reason: str


@dataclass(frozen=True, slots=True)
class PackageFile:
    """A file of the job package, whole."""

    name: str
    text: str
    size: int
    url: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class EditorPage:
    """The editor on one of its views; `hidden` carries what the view itself does not show."""

    view: str
    action: str
    cards: list[RecipeCard]
    tabs: list[ViewTab]
    recipe: str
    summary: str
    naming: list[FormField]
    hidden: list[tuple[str, str]]
    panel: CheckPanel
    problems: list[tuple[str, str]]
    """(control id or empty, sentence) of a launch that was refused."""
    refused: str
    """What was not done, `launched` or `saved`; empty where nothing was refused."""
    groups: list[EditorGroup] = field(default_factory=list)
    takes_others: bool = False
    others_open: bool = False
    yaml: str = ""
    yaml_problem: str = ""
    longest_yaml: int = 0
    """Characters of a YAML text that is read."""
    changes: list[ChangeRow] = field(default_factory=list)
    previous_changes: list[ChangeRow] = field(default_factory=list)
    previous_name: str = ""
    is_newest: bool = True
    against: FormField | None = None
    """The version that `previous_changes` are from, where there are several to choose from."""
    differences: list[DifferenceRow] = field(default_factory=list)
    follows: str = ""
    files: list[PackageFile] = field(default_factory=list)
    submit_command: str = ""


@dataclass(frozen=True, slots=True)
class KeyOption:
    """A key to complete to, with its type and default in words."""

    key: str
    hint: str


@dataclass(frozen=True, slots=True)
class KeysPart:
    """Completions of a key that is being typed."""

    options: list[KeyOption]


@dataclass(frozen=True, slots=True)
class RemarkRow:
    """A line of an imported text. `line` counts from 1."""

    line: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportPage:
    """The page that takes a script. `result` is None before anything was read."""

    text: str
    problem: str
    project: str
    result: "ImportResult | None" = None


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What was understood. `yaml` is the config, which the editor opens."""

    recipe: str
    recipe_title: str
    count: int
    rows: list[ChangeRow]
    unresolved: list[RemarkRow]
    notes: list[RemarkRow]
    yaml: str
