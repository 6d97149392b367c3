"""What an example of a rule is, and values that several of them share."""

from dataclasses import dataclass, field

from app.recipes.skyrl.rules import ClusterResources, Context
from tests.recipes.skyrl.rules.tutorial import EVALUATION, TRAIN

ENGINE = "generator.inference_engine"
APART = ("trainer.placement.colocate_all=false",)
SAMPLES_1 = ("generator.n_samples_per_prompt=1",)
KNOWN = Context(train=TRAIN, evaluation=EVALUATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """`fails` breaks the rule, `passes` does not; each with what is known beside the config."""

    fails: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()
    known: Context = field(default_factory=Context)
    known_passing: Context | None = None
    version: str | None = None
    cluster: ClusterResources | None = None
