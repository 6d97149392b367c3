"""Settings of a run, named as SkyRL names them, read from `key=value` arguments."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from worker.jobs.maze_grpo.grpo import Clip, KlEstimator, LossReduction, PolicyLoss

_T = TypeVar("_T")
_Check = Callable[[Any], str | None]


class ConfigError(ValueError):
    """A setting is unknown or has a wrong value. The message is one line for people."""


def _at_least(limit: float) -> _Check:
    return lambda value: None if value >= limit else f"must be at least {limit}"


def _positive(value: float) -> str | None:
    return None if value > 0 else "must be greater than 0"


def _fraction(value: float) -> str | None:
    return None if 0 <= value <= 1 else "must lie between 0 and 1"


def _one_of(*choices: str) -> _Check:
    return lambda value: None if value in choices else f"must be one of {', '.join(choices)}"


def _key(key: str, default: _T, check: _Check | None = None) -> _T:
    """A field that is set by `key`, checked by `check` (None, or what is wrong)."""
    made: _T = field(default=default, metadata={"key": key, "check": check})
    return made


_ALGORITHM = "trainer.algorithm."
_POLICY = "trainer.policy."
_MODES = ("latest", "none", "null", "from_path")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A whole run. Defaults are the recipe that reaches 95 % in about 75 CPU seconds."""

    val_data: str = _key("data.val_data", "easy-solvable-15")
    seed: int = _key("trainer.seed", 0, _at_least(0))
    project_name: str = _key("trainer.project_name", "skydeck")
    run_name: str = _key("trainer.run_name", "maze-grpo")
    logger: str = _key("trainer.logger", "console", _one_of("console"))
    max_training_steps: int = _key("trainer.max_training_steps", 280, _at_least(1))
    train_batch_size: int = _key("trainer.train_batch_size", 128, _at_least(1))
    policy_mini_batch_size: int = _key("trainer.policy_mini_batch_size", 8, _at_least(1))
    update_epochs_per_batch: int = _key("trainer.update_epochs_per_batch", 2, _at_least(1))
    eval_before_train: bool = _key("trainer.eval_before_train", True)
    eval_interval: int = _key("trainer.eval_interval", 20)
    ckpt_interval: int = _key("trainer.ckpt_interval", 20)
    hf_save_interval: int = _key("trainer.hf_save_interval", 20)
    max_ckpts_to_keep: int = _key(
        "trainer.max_ckpts_to_keep", -1, lambda value: "must not be 0" if value == 0 else None
    )
    ckpt_path: str = _key("trainer.ckpt_path", "")
    export_path: str = _key("trainer.export_path", "")
    resume_mode: str = _key("trainer.resume_mode", "latest", _one_of(*_MODES))
    resume_path: str = _key("trainer.resume_path", "")
    dump_eval_results: bool = _key("trainer.dump_eval_results", True)
    model_path: str = _key(_POLICY + "model.path", "")
    lora_rank: int = _key(_POLICY + "model.lora.rank", 32, _at_least(1))
    lora_alpha: float = _key(_POLICY + "model.lora.alpha", 32.0, _positive)
    lr: float = _key(_POLICY + "optimizer_config.lr", 2e-3, _positive)
    final_lr_fraction: float = _key(_POLICY + "optimizer_config.final_lr_fraction", 0.1, _fraction)
    max_grad_norm: float = _key(_POLICY + "optimizer_config.max_grad_norm", 1.0, _positive)
    ema_decay: float = _key(_POLICY + "ema_decay", 0.99, _fraction)
    advantage_estimator: str = _key(_ALGORITHM + "advantage_estimator", "grpo", _one_of("grpo"))
    grpo_norm_by_std: bool = _key(_ALGORITHM + "grpo_norm_by_std", True)
    loss_reduction: str = _key(
        _ALGORITHM + "loss_reduction", LossReduction.TOKEN_MEAN.value, _one_of(*LossReduction)
    )
    policy_loss_type: str = _key(
        _ALGORITHM + "policy_loss_type", PolicyLoss.REGULAR.value, _one_of(*PolicyLoss)
    )
    eps_clip_low: float = _key(_ALGORITHM + "eps_clip_low", 0.2, _fraction)
    eps_clip_high: float = _key(_ALGORITHM + "eps_clip_high", 0.28, _at_least(0))
    clip_ratio_c: float = _key(_ALGORITHM + "clip_ratio_c", 3.0, _at_least(1))
    use_kl_loss: bool = _key(_ALGORITHM + "use_kl_loss", False)
    kl_loss_coef: float = _key(_ALGORITHM + "kl_loss_coef", 0.001, _at_least(0))
    kl_estimator_type: str = _key(
        _ALGORITHM + "kl_estimator_type", KlEstimator.K3.value, _one_of(*KlEstimator)
    )
    n_samples_per_prompt: int = _key("generator.n_samples_per_prompt", 8, _at_least(2))
    max_turns: int = _key("generator.max_turns", 15, _at_least(1))
    temperature: float = _key("generator.sampling_params.temperature", 1.0, _positive)
    env_class: str = _key("environment.env_class", "visgym", _one_of("visgym"))

    @property
    def clip(self) -> Clip:
        dual = self.clip_ratio_c if self.policy_loss_type == PolicyLoss.DUAL_CLIP else None
        return Clip(self.eps_clip_low, self.eps_clip_high, dual)

    @property
    def checkpoints_folder(self) -> Path:
        return Path(self.ckpt_path)

    @property
    def export_folder(self) -> Path:
        return Path(self.export_path)

    def as_keys(self) -> dict[str, object]:
        """The settings by the names that they are given under."""
        return {key: getattr(self, item.name) for key, item in _fields().items()}


def parse(arguments: Sequence[str], *, run_folder: Path) -> Config:
    """The configuration of `key=value` arguments; the last one of a key wins.

    Paths that are not given lie in `run_folder`. Raises `ConfigError`.
    """
    known = _fields()
    values: dict[str, Any] = {}
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals:
            raise ConfigError(f"expected key=value, got {argument!r}")
        if key not in known:
            raise ConfigError(f"unknown key {key!r}{_hint(key, list(known))}")
        values[known[key].name] = _value(key, text, known[key])
    for name, folder in (("ckpt_path", "ckpts"), ("export_path", "exports")):
        values[name] = values.get(name) or str(run_folder / folder)
    config = Config(**values)
    if config.resume_mode == "from_path" and not config.resume_path:
        raise ConfigError("trainer.resume_mode=from_path needs trainer.resume_path")
    return config


def _fields() -> dict[str, Field[Any]]:
    return {item.metadata["key"]: item for item in fields(Config)}


def _value(key: str, text: str, item: Field[Any]) -> Any:
    kind = type(item.default)
    try:
        value = _READERS[kind](_unquoted(text))
    except ValueError:
        raise ConfigError(f"{key} must be {_KINDS[kind]}, got {text!r}") from None
    check: _Check | None = item.metadata["check"]
    problem = check(value) if check else None
    if problem:
        raise ConfigError(f"{key} {problem}, got {text!r}")
    return value


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _boolean(text: str) -> bool:
    known = {"true": True, "false": False}
    if text.lower() not in known:
        raise ValueError(text)
    return known[text.lower()]


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise ValueError(text)
    return value


_READERS: dict[type, Callable[[str], object]] = {
    bool: _boolean,
    int: int,
    float: _finite,
    str: str,
}
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def _hint(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
