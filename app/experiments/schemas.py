"""JSON shapes of experiments, their config versions and what differs between them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from app.api.schemas import Answer, Body, ConfigValues, Line, Prose, whole_characters
from app.models import Config, Experiment
from app.recipes import service as recipes
from app.recipes.diff import Change
from app.recipes.schemas import ChangeAnswer

Tags = Annotated[list[Line], Field(max_length=50, examples=[["lora"]])]
VersionNumber = Annotated[int, Field(ge=1, lt=2**31, examples=[2])]
Yaml = Annotated[
    str,
    Field(
        max_length=recipes.LONGEST_DOCUMENT,
        description="The config as typed, comments and all, which is kept; alone, or beside "
        "a `config` of the same values",
        examples=["# smaller, to see whether it is enough\ntrainer.policy.model.lora.rank: 16\n"],
    ),
    AfterValidator(whole_characters),
]


class ExperimentBody(Body):
    name: Line = Field(examples=["Does rank matter?"])
    recipe: Line = Field(examples=["embedded-maze-grpo"])
    config: ConfigValues | None = Field(
        default=None, examples=[{"trainer.policy.model.lora.rank": 16}]
    )
    yaml: Yaml | None = None
    project: Line | None = Field(default=None, examples=["default"])
    hypothesis: Prose = ""
    tags: Tags = Field(default_factory=list)


class ExperimentChange(Body):
    """What to change; what is left out stays. `revision` refuses a change of what has changed."""

    name: Line | None = None
    hypothesis: Prose | None = None
    tags: Tags | None = None
    revision: VersionNumber | None = None


class VersionBody(Body):
    """The next version: the recipe's defaults under `config`, or under what `yaml` says.

    `after` refuses a stale one.
    """

    config: ConfigValues | None = Field(
        default=None, examples=[{"trainer.policy.model.lora.rank": 16}]
    )
    recipe: Line | None = Field(
        default=None, description="Only for the first version: an experiment keeps its recipe"
    )
    yaml: Yaml | None = None
    after: int | None = Field(
        default=None, ge=0, lt=2**31, description="The version that you take for the newest"
    )


class ForkBody(Body):
    """A new experiment whose version 1 is the same config, to the byte."""

    version: VersionNumber | None = Field(default=None, description="The newest unless given")
    name: Line | None = None
    project: Line | None = Field(default=None, description="That of the original unless given")


class OriginAnswer(Answer):
    """Where a fork began."""

    id: str = Field(examples=["exp-3kq9x2vd"])
    version: int | None


class ExperimentAnswer(Answer):
    """`recipe` to `digest` are of the newest config; null where all runs are external."""

    id: str = Field(examples=["exp-3kq9x2vd"])
    name: str
    project: str = Field(examples=["default"])
    hypothesis: str
    tags: list[str]
    owner: str
    created_at: datetime
    archived_at: datetime | None
    revision: int = Field(description="Rises with each change of name, hypothesis, tags, archive")
    forked_from: OriginAnswer | None
    recipe: str | None
    recipe_version: int | None
    config: dict[str, Any] | None
    version: int | None
    digest: str | None = Field(description="SHA-256 of recipe, its version and all values")

    @classmethod
    def of(cls, experiment: Experiment, config: Config | None) -> "ExperimentAnswer":
        origin = experiment.forked_from
        return cls(
            id=experiment.slug,
            name=experiment.name,
            project=experiment.project.slug,
            hypothesis=experiment.hypothesis,
            tags=experiment.tags,
            owner=experiment.owner,
            created_at=experiment.created_at,
            archived_at=experiment.archived_at,
            revision=experiment.revision,
            forked_from=OriginAnswer(id=origin.slug, version=experiment.forked_version)
            if origin
            else None,
            recipe=config.recipe if config else None,
            recipe_version=config.recipe_version if config else None,
            config=config.values if config else None,
            version=config.version if config else None,
            digest=config.digest if config else None,
        )


class VersionAnswer(Answer):
    """A frozen config; `changes` are against the version before it: none for new comments."""

    experiment_id: str = Field(examples=["exp-3kq9x2vd"])
    version: int
    recipe: str
    recipe_version: int
    config: dict[str, Any]
    digest: str
    created_by: str
    created_at: datetime
    changes: list[ChangeAnswer]
    yaml: str | None = Field(
        description="What it was typed as, with comments; null if it was not, and in lists"
    )

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        config: Config,
        changes: Sequence[Change],
        yaml: str | None = None,
    ) -> "VersionAnswer":
        assert config.version is not None
        return cls(
            experiment_id=experiment.slug,
            version=config.version,
            recipe=config.recipe,
            recipe_version=config.recipe_version,
            config=config.values,
            digest=config.digest,
            created_by=config.created_by,
            created_at=config.created_at,
            changes=[ChangeAnswer.model_validate(each) for each in changes],
            yaml=yaml,
        )


class VersionDiffAnswer(Answer):
    """Where two versions differ; `before` and `after` of each key are theirs."""

    before: int = Field(alias="from")
    after: int = Field(alias="to")
    items: list[ChangeAnswer]
