"""JSON shapes of recipes, configs and what validation found."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from app.api.schemas import Answer, Body, ConfigValues, Line, whole_characters
from app.recipes.model import FieldType, Findings, Recipe
from app.recipes.validate import MOST_KEYS, too_many

_EXAMPLE = {"trainer.seed": 1, "trainer.policy.optimizer_config.lr": 0.002}


class FieldAnswer(Answer):
    key: str = Field(examples=["trainer.policy.optimizer_config.lr"])
    label: str
    type: FieldType
    default: Any
    help: str
    is_optional: bool = Field(default=False, description="Whether null is taken")
    choices: Annotated[list[str] | None, BeforeValidator(lambda given: given or None)] = None
    min: int | float | None = None
    max: int | float | None = None
    above: int | float | None = Field(default=None, description="Values must be greater than this")


class GroupAnswer(Answer):
    title: str
    fields: list[FieldAnswer]


class DifferenceAnswer(Answer):
    """A value that is not that of the published recipe which this one follows, and why."""

    key: str
    theirs: Any = Field(description="null where they do not set the key")
    reason: str


class RecipeAnswer(Answer):
    name: str = Field(examples=["embedded-maze-grpo"])
    title: str
    version: int
    summary: str
    needs: str
    is_builtin_code: bool = Field(description="Whether only code that came with Skydeck runs")
    tree: str | None = Field(description="SkyRL's version whose other keys are taken, too")
    follows: str
    differences: list[DifferenceAnswer]
    groups: list[GroupAnswer]

    @classmethod
    def of(cls, recipe: Recipe) -> "RecipeAnswer":
        return cls.model_validate(recipe)


def _of_sane_size(values: dict[str, Any]) -> dict[str, Any]:
    if len(values) > MOST_KEYS:
        raise ValueError(too_many(len(values)).message)
    return values


class ConfigBody(Body):
    """A config by dotted key; keys that are missing take the recipe's defaults."""

    recipe: Line = Field(examples=["embedded-maze-grpo"])
    config: Annotated[ConfigValues, AfterValidator(_of_sane_size)] = Field(
        default_factory=dict, examples=[_EXAMPLE]
    )
    cluster: Line | None = Field(default=None, examples=["embedded"])


class ImportBody(Body):
    text: Annotated[str, AfterValidator(whole_characters)] = Field(
        description="A train_job.sh, a ray job submit command, overrides, or a YAML or JSON config",
        examples=["trainer.epochs=20\ntrainer.train_batch_size=24"],
    )


class DiffBody(ConfigBody):
    """Two configs; without `other`, the recipe's defaults against `config`."""

    other: ConfigBody | None = None


class ErrorFound(Answer):
    rule: str = Field(examples=["unknown_key"])
    fields: list[str]
    message: str
    suggestion: str | None = None
    fix_values: dict[str, Any] | None = Field(default=None, description="Values that end it")


class WarningFound(Answer):
    rule: str = Field(examples=["turns_too_few"])
    fields: list[str]
    message: str
    fix: str | None = None
    fix_values: dict[str, Any] | None = Field(default=None, description="Values that end it")


class ValidationAnswer(Answer):
    """Errors stop a launch, warnings do not; notes are often meant so."""

    ok: bool
    errors: list[ErrorFound]
    warnings: list[WarningFound]
    notes: list[WarningFound]

    @classmethod
    def of(cls, found: Findings) -> "ValidationAnswer":
        return cls(
            ok=found.ok,
            errors=[
                ErrorFound(
                    rule=each.rule,
                    fields=list(each.fields),
                    message=each.message,
                    suggestion=each.fix,
                    fix_values=dict(each.fix_values) if each.fix_values else None,
                )
                for each in found.errors
            ],
            warnings=[WarningFound.model_validate(each) for each in found.warnings],
            notes=[WarningFound.model_validate(each) for each in found.notes],
        )


class RenderAnswer(Answer):
    files: dict[str, str] = Field(examples=[{"train_job.sh": "#!/usr/bin/env bash\n…"}])
    submit_command: str


class RemarkAnswer(Answer):
    line: int
    text: str
    reason: str


class ImportAnswer(Answer):
    """What of a text became a config; `notes` are lines of which the job has no need."""

    recipe: str
    config: dict[str, Any]
    unresolved: list[RemarkAnswer]
    notes: list[RemarkAnswer]


class ChangeAnswer(Answer):
    key: str
    before: Any
    after: Any
    is_new: bool
    is_gone: bool


class DiffAnswer(Answer):
    items: list[ChangeAnswer]
