"""JSON shapes of recipes, configs and what validation found."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from app.api.schemas import Answer, Body, ConfigValues, Line
from app.recipes.model import FieldType, Findings, Recipe

_EXAMPLE = {"trainer.seed": 1, "trainer.policy.optimizer_config.lr": 0.002}


class FieldAnswer(Answer):
    key: str = Field(examples=["trainer.policy.optimizer_config.lr"])
    label: str
    type: FieldType
    default: bool | int | float | str
    help: str
    choices: Annotated[list[str] | None, BeforeValidator(lambda given: given or None)] = None
    min: int | float | None = None
    max: int | float | None = None
    above: int | float | None = Field(default=None, description="Values must be greater than this")


class GroupAnswer(Answer):
    title: str
    fields: list[FieldAnswer]


class RecipeAnswer(Answer):
    name: str = Field(examples=["embedded-maze-grpo"])
    title: str
    version: int
    summary: str
    groups: list[GroupAnswer]

    @classmethod
    def of(cls, recipe: Recipe) -> "RecipeAnswer":
        return cls.model_validate(recipe)


class ConfigBody(Body):
    """A config by dotted key; keys that are missing take the recipe's defaults."""

    recipe: Line = Field(examples=["embedded-maze-grpo"])
    config: ConfigValues = Field(default_factory=dict, examples=[_EXAMPLE])
    cluster: Line | None = Field(default=None, examples=["embedded"])


class ErrorFound(Answer):
    rule: str = Field(examples=["unknown_key"])
    fields: list[str]
    message: str
    suggestion: str | None = None


class WarningFound(Answer):
    rule: str = Field(examples=["turns_too_few"])
    fields: list[str]
    message: str
    fix: str | None = None


class ValidationAnswer(Answer):
    ok: bool
    errors: list[ErrorFound]
    warnings: list[WarningFound]

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
                )
                for each in found.errors
            ],
            warnings=[WarningFound.model_validate(each) for each in found.warnings],
        )


class RenderAnswer(Answer):
    files: dict[str, str] = Field(examples=[{"train_job.sh": "#!/usr/bin/env bash\n…"}])
    submit_command: str
