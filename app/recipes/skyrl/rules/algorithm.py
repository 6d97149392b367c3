"""V12 to V15, V19 to V22: algorithm, loss and corrections (`validate_cfg`)."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.context import Context
from app.recipes.skyrl.rules.parallel import is_ref_used
from app.recipes.skyrl.rules.registry import Flaw, Kind, fix_passes, rule
from app.recipes.skyrl.rules.view import View, shown

_ALGORITHM = "trainer.algorithm"
_SP_BACKEND = k.name("trainer.sequence_parallel_backend")
_LOSS = k.name(f"{_ALGORITHM}.policy_loss_type")
_REDUCTION = k.name(f"{_ALGORITHM}.loss_reduction")
_MAX_SEQ_LEN = k.name(f"{_ALGORITHM}.max_seq_len")
_USE_TIS = k.name(f"{_ALGORITHM}.use_tis")
_TIS = k.name(f"{_ALGORITHM}.off_policy_correction.tis_ratio_type")
_MASK = k.name(f"{_ALGORITHM}.off_policy_correction.sequence_mask_metric")
_POLICY_TEXT_ONLY = k.name("trainer.policy.language_model_only")
_REF_TEXT_ONLY = k.name("trainer.ref.language_model_only")
_ENGINE_TEXT_ONLY = k.name("generator.inference_engine.language_model_only")

ESTIMATORS = ("grpo", "gae", "rloo", "reinforce++", "maxrl")
LOSSES = (
    *("regular", "dual_clip", "gspo", "cispo", "rollout_is", "clip_cov", "kl_cov", "sapo"),
    *("cross_entropy", "importance_sampling", "dppo"),
)
REDUCTIONS = (
    *("token_mean", "token_mean_legacy", "sequence_mean", "seq_mean_token_sum_norm"),
    "prompt_mean",
)


@rule(Kind.REFUSED, "V12.sequence_parallel_backend", _SP_BACKEND)
def sequence_parallel_backend(at: View, _: Context) -> Iterator[Flaw]:
    yield from _one_of(at, _SP_BACKEND, ("ulysses",))


@rule(Kind.REFUSED, "V13.critic_for_gae", k.ESTIMATOR, k.CRITIC)
def critic_for_gae(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(k.ESTIMATOR) == "gae" and not at.get(k.CRITIC):
        yield Flaw(
            message=f"{k.ESTIMATOR} gae needs a critic: {k.CRITIC} is {shown(at.get(k.CRITIC))}",
            fix=f"use {k.ESTIMATOR} grpo, or set {k.CRITIC}",
            fix_values={k.ESTIMATOR: "grpo"},
        )


@rule(Kind.REFUSED, "V14.one_kl", k.KL_REWARD, k.KL_LOSS)
def one_kl(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(k.KL_REWARD) and at.get(k.KL_LOSS):
        yield Flaw(
            message=f"{k.KL_REWARD} and {k.KL_LOSS} exclude each other",
            fix=f"use {k.KL_REWARD} false",
            fix_values={k.KL_REWARD: False},
        )


@rule(Kind.REFUSED, "V15.text_only", _POLICY_TEXT_ONLY, _ENGINE_TEXT_ONLY, _REF_TEXT_ONLY)
def text_only(at: View, _: Context) -> Iterator[Flaw]:
    if not at.get(_POLICY_TEXT_ONLY):
        return
    others = [_ENGINE_TEXT_ONLY, *([_REF_TEXT_ONLY] if is_ref_used(at) else [])]
    wrong = [key for key in others if not at.get(key)]
    if wrong:
        yield Flaw(
            message=f"{_POLICY_TEXT_ONLY} is on, but {k.listed(wrong)} not",
            fix="set all of them alike",
            fix_values=dict.fromkeys(wrong, True),
            fields=(_POLICY_TEXT_ONLY, *wrong),
        )


@rule(Kind.REFUSED, "V19.policy_loss_type", _LOSS)
def policy_loss_type(at: View, _: Context) -> Iterator[Flaw]:
    yield from _one_of(at, _LOSS, LOSSES)


@rule(Kind.REFUSED, "V19.advantage_estimator", k.ESTIMATOR)
def advantage_estimator(at: View, _: Context) -> Iterator[Flaw]:
    yield from _one_of(at, k.ESTIMATOR, ESTIMATORS)


@rule(Kind.REFUSED, "V19.loss_reduction", _REDUCTION)
def loss_reduction(at: View, _: Context) -> Iterator[Flaw]:
    yield from _one_of(at, _REDUCTION, REDUCTIONS)


@rule(Kind.REFUSED, "V20.step_wise_estimator", k.STEP_WISE, k.ESTIMATOR)
def step_wise_estimator(at: View, _: Context) -> Iterator[Flaw]:
    estimator = at.get(k.ESTIMATOR)
    if at.get(k.STEP_WISE) and estimator in ("gae", "reinforce++"):
        yield Flaw(
            message=f"{k.STEP_WISE} gives each trajectory one advantage, which {k.ESTIMATOR} "
            f"{estimator} cannot use",
            fix=f"use {k.ESTIMATOR} grpo, rloo or maxrl, or {k.STEP_WISE} false",
            fix_values={k.ESTIMATOR: "grpo"},
        )


@rule(Kind.REFUSED, "V20.step_wise_reduction", k.STEP_WISE, _REDUCTION)
def step_wise_reduction(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(k.STEP_WISE) and at.get(_REDUCTION) == "token_mean_legacy":
        yield Flaw(
            message=f"{_REDUCTION} token_mean_legacy does not work with {k.STEP_WISE}",
            fix="use token_mean",
            fix_values={_REDUCTION: "token_mean"},
        )


@rule(Kind.REFUSED, "V20.merge_needs_step_wise", k.MERGE_STEP_WISE, k.STEP_WISE)
def merge_needs_step_wise(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(k.MERGE_STEP_WISE) and not at.get(k.STEP_WISE):
        yield Flaw(
            message=f"{k.MERGE_STEP_WISE} merges what only {k.STEP_WISE} makes",
            fix=f"use {k.MERGE_STEP_WISE} false",
            fix_values={k.MERGE_STEP_WISE: False},
        )


@rule(Kind.REFUSED, "V21.max_seq_len", _REDUCTION, _MAX_SEQ_LEN)
def max_seq_len(at: View, context: Context) -> Iterator[Flaw]:
    if at.get(_REDUCTION) != "seq_mean_token_sum_norm" or at.get(_MAX_SEQ_LEN) is not None:
        return
    window = at.inside(k.ENGINE_KWARGS, "max_model_len")
    values = {_MAX_SEQ_LEN: window} if isinstance(window, int) else None
    yield Flaw(
        message=f"{_REDUCTION} seq_mean_token_sum_norm divides by {_MAX_SEQ_LEN}, which is null",
        fix=f"set {_MAX_SEQ_LEN}, often to the engine's max_model_len"
        + (f" {shown(window)}" if values else ""),
        fix_values=values,
    )


@rule(Kind.REFUSED, "V22.tis_ratio_type", _TIS)
def tis_ratio_type(at: View, _: Context) -> Iterator[Flaw]:
    if not at.get(_USE_TIS) and at.get(_TIS):
        yield from _one_of(at, _TIS, ("token", "sequence"))


@rule(Kind.REFUSED, "V22.sequence_mask_metric", _MASK)
def sequence_mask_metric(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(_MASK):
        yield from _one_of(at, _MASK, ("product", "geometric"))


@rule(Kind.REFUSED, "V22.correction_loss", _LOSS, _TIS, _MASK)
def correction_loss(at: View, context: Context) -> Iterator[Flaw]:
    corrects = at.get(_USE_TIS) or at.get(_TIS) is not None or at.get(_MASK) is not None
    if not corrects or at.get(_LOSS) not in ("clip_cov", "kl_cov"):
        return
    values = {_LOSS: "regular"}
    passes = not at.is_trial and fix_passes(at, context, values, "V22.correction_loss")
    yield Flaw(
        message=f"{_LOSS} {at.get(_LOSS)} does not work with off-policy correction "
        f"({_TIS} or {_MASK})",
        fix="use regular, or no correction",
        fix_values=values if passes else None,
    )


def _one_of(at: View, key: str, choices: tuple[str, ...]) -> Iterator[Flaw]:
    value: Any = at.get(key)
    if value in choices:
        return
    near = get_close_matches(value, choices, n=1) if isinstance(value, str) else []
    best = near[0] if near else choices[0]
    yield Flaw(
        message=f"{key} must be one of {', '.join(choices)}, not {shown(value)}",
        fix=f"did you mean {best}?" if near else f"use {best}",
        fix_values={key: best},
    )
