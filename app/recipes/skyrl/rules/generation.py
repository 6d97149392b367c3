"""V1 to V4, and what generation needs: `validate_generator_cfg`."""

from collections.abc import Iterator

from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.context import Context
from app.recipes.skyrl.rules.registry import Flaw, Kind, rule
from app.recipes.skyrl.rules.view import View, shown

_STEPS = k.name("trainer.max_training_steps")
_LOGGER = k.name("trainer.logger")
_LOGPROBS = k.name("generator.sampling_params.logprobs")
WANDB_KEY = "WANDB_API_KEY"


@rule(Kind.REFUSED, "V1.training_steps_positive", _STEPS)
def training_steps_positive(at: View, _: Context) -> Iterator[Flaw]:
    steps = at.get(_STEPS)
    if steps is not None and steps <= 0:
        yield Flaw(
            message=f"{_STEPS} must be above 0, not {shown(steps)}",
            fix="use null to train all epochs",
            fix_values={_STEPS: None},
        )


@rule(Kind.REFUSED, "V2.input_length", k.MAX_INPUT, k.MAX_PROMPT, k.TURNS)
def input_length(at: View, _: Context) -> Iterator[Flaw]:
    longest, prompt = at.get(k.MAX_INPUT), at.get(k.MAX_PROMPT)
    is_single = at.get(k.TURNS) == 1
    if longest == prompt if is_single else longest >= prompt:
        return
    wanted = "equal to" if is_single else "at least"
    yield Flaw(
        message=f"{k.MAX_INPUT} {shown(longest)} must be {wanted} {k.MAX_PROMPT} {shown(prompt)} "
        f"with {k.TURNS} {shown(at.get(k.TURNS))}",
        fix=f"use {k.MAX_INPUT} {shown(prompt)}",
        fix_values={k.MAX_INPUT: prompt},
    )


@rule(Kind.REFUSED, "V3.wandb_key", _LOGGER)
def wandb_key(at: View, context: Context) -> Iterator[Flaw]:
    if at.get(_LOGGER) == "wandb" and not context.environment.get(WANDB_KEY):
        yield Flaw(
            message=f"{_LOGGER} is wandb, but the job's environment has no {WANDB_KEY}",
            fix=f"use {_LOGGER} console, which Skydeck reads, or set {WANDB_KEY}",
            fix_values={_LOGGER: "console"},
        )


@rule(Kind.REFUSED, "V4.logprobs", _LOGPROBS)
def logprobs(at: View, _: Context) -> Iterator[Flaw]:
    value = at.get(_LOGPROBS)
    if value is not None and (not isinstance(value, int) or value > 1):
        yield Flaw(
            message=f"{_LOGPROBS} must be null, 0 or 1, not {shown(value)}",
            fix="use 1",
            fix_values={_LOGPROBS: 1},
        )
