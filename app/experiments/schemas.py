"""JSON shapes of experiments."""

from datetime import datetime
from typing import Any

from pydantic import Field

from app.api.schemas import Answer, Body, ConfigValues, Line, Prose
from app.models import Config, Experiment


class ExperimentBody(Body):
    name: Line = Field(examples=["Does rank matter?"])
    recipe: Line = Field(examples=["embedded-maze-grpo"])
    config: ConfigValues = Field(
        default_factory=dict, examples=[{"trainer.policy.model.lora.rank": 16}]
    )
    project: Line | None = Field(default=None, examples=["default"])
    hypothesis: Prose = ""
    tags: list[Line] = Field(default_factory=list, max_length=50)


class ExperimentAnswer(Answer):
    """`recipe` to `digest` are of the newest config; null where all runs are external."""

    id: str = Field(examples=["exp-3kq9x2vd"])
    name: str
    project: str = Field(examples=["default"])
    hypothesis: str
    tags: list[str]
    owner: str
    created_at: datetime
    recipe: str | None
    recipe_version: int | None
    config: dict[str, Any] | None
    version: int | None
    digest: str | None = Field(description="SHA-256 of recipe, its version and all values")

    @classmethod
    def of(cls, experiment: Experiment, config: Config | None) -> "ExperimentAnswer":
        return cls(
            id=experiment.slug,
            name=experiment.name,
            project=experiment.project.slug,
            hypothesis=experiment.hypothesis,
            tags=experiment.tags,
            owner=experiment.owner,
            created_at=experiment.created_at,
            recipe=config.recipe if config else None,
            recipe_version=config.recipe_version if config else None,
            config=config.values if config else None,
            version=config.version if config else None,
            digest=config.digest if config else None,
        )
