"""Notes: combinations outside what the field uses, and what is easily forgotten."""

from collections.abc import Iterator

from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.context import Context
from app.recipes.skyrl.rules.paths import is_node_local
from app.recipes.skyrl.rules.registry import Flaw, Kind, rule
from app.recipes.skyrl.rules.view import View, shown

_UPDATES = k.name("trainer.update_epochs_per_batch")
_LOG_PATH = k.name("trainer.log_path")
# SkyRL's own scripts: 1e-6 to 1e-5 for all weights, up to 3e-5 with LoRA; adapters of other
# trainers go up to 1e-4.
_FULL_LR = (1e-7, 1e-5)
_LORA_LR = (1e-6, 1e-4)
_MOST_UPDATES = 16
_FEWEST_SAMPLES = 32
_GROUP_ESTIMATORS = ("grpo", "rloo", "maxrl")


@rule(Kind.WARNING, "trap.learning_rate", k.LR)
def learning_rate(at: View, _: Context) -> Iterator[Flaw]:
    if at.number(k.LR) <= 0:
        yield Flaw(
            message=f"{k.LR} {at.number(k.LR):g} trains nothing",
            fix="use 1e-6",
            fix_values={k.LR: 1e-6},
        )


@rule(Kind.WARNING, "trap.one_sample", k.SAMPLES, k.ESTIMATOR)
def one_sample(at: View, _: Context) -> Iterator[Flaw]:
    if at.whole(k.SAMPLES) == 1 and at.get(k.ESTIMATOR) in _GROUP_ESTIMATORS:
        yield Flaw(
            message=f"{k.ESTIMATOR} {at.get(k.ESTIMATOR)} compares the samples of a prompt, and "
            f"{k.SAMPLES} is 1: there is nothing to compare with",
            fix="use 8 samples, and fewer prompts a batch",
        )


@rule(Kind.NOTE, "note.learning_rate", k.LR, k.RANK)
def usual_learning_rate(at: View, _: Context) -> Iterator[Flaw]:
    rate, is_lora = at.number(k.LR), at.whole(k.RANK) > 0
    least, most = _LORA_LR if is_lora else _FULL_LR
    if rate > 0 and not least <= rate <= most:
        what = "LoRA adapters" if is_lora else "all weights"
        yield Flaw(
            message=f"{k.LR} {rate:g} is outside {least:g} to {most:g}, which is usual for {what}"
        )


@rule(Kind.NOTE, "note.updates_per_batch", k.TRAIN, k.MINI, _UPDATES)
def updates_per_batch(at: View, _: Context) -> Iterator[Flaw]:
    train, mini, epochs = at.whole(k.TRAIN), at.whole(k.MINI), at.whole(_UPDATES)
    if mini <= 0 or (updates := train // mini * epochs) <= _MOST_UPDATES:
        return
    yield Flaw(
        message=f"{train} / {mini} × {epochs} = {updates} updates a batch: the last ones train on "
        f"rollouts of an older policy; more than {_MOST_UPDATES} are unusual"
    )


@rule(Kind.NOTE, "note.small_mini_batch", k.MINI, k.SAMPLES)
def small_mini_batch(at: View, _: Context) -> Iterator[Flaw]:
    mini, samples = at.whole(k.MINI), at.whole(k.SAMPLES)
    if 0 < mini * samples < _FEWEST_SAMPLES:
        yield Flaw(
            message=f"An update sees {mini} × {samples} = {mini * samples} samples; fewer than "
            f"{_FEWEST_SAMPLES} make gradients noisy"
        )


@rule(Kind.NOTE, "note.log_node_local", _LOG_PATH)
def log_node_local(at: View, context: Context) -> Iterator[Flaw]:
    if is_node_local(at.text(_LOG_PATH), context.shared_paths):
        yield Flaw(
            message=f"{_LOG_PATH} {shown(at.text(_LOG_PATH))} lies on one node: errors of "
            "workers and engines are written only there"
        )
