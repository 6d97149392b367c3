from pathlib import Path

import pytest

from worker.jobs.maze_grpo.config import Config, ConfigError, parse
from worker.jobs.maze_grpo.grpo import Clip

RUN = Path("/runs/one")


def test_defaults_are_the_recipe_and_paths_lie_in_the_runs_folder() -> None:
    config = parse([], run_folder=RUN)
    assert config.checkpoints_folder == RUN / "ckpts"
    assert config.export_folder == RUN / "exports"
    assert config == Config(ckpt_path="/runs/one/ckpts", export_path="/runs/one/exports")


def test_values_are_read_by_the_type_of_the_key() -> None:
    config = parse(
        [
            "trainer.seed=7",
            "trainer.policy.optimizer_config.lr=1e-3",
            "trainer.dump_eval_results=False",
            "trainer.run_name='run-a=b'",
            "trainer.ckpt_path=/elsewhere",
            "trainer.seed=8",
        ],
        run_folder=RUN,
    )
    assert (config.seed, config.lr, config.dump_eval_results) == (8, 1e-3, False)
    assert (config.run_name, config.ckpt_path) == ("run-a=b", "/elsewhere")


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("trainer.sed=1", "unknown key 'trainer.sed'; did you mean 'trainer.seed'?"),
        ("zzz=1", "unknown key 'zzz'"),
        ("trainer.seed", "expected key=value, got 'trainer.seed'"),
        ("trainer.seed=abc", "trainer.seed must be a whole number, got 'abc'"),
        ("trainer.seed=2.5", "trainer.seed must be a whole number, got '2.5'"),
        ("trainer.seed=-1", "trainer.seed must be at least 0, got '-1'"),
        ("trainer.ema_decay=1", "unknown key 'trainer.ema_decay'"),
        ("trainer.policy.ema_decay=2", "trainer.policy.ema_decay must lie between 0 and 1"),
        ("trainer.policy.optimizer_config.lr=nan", "must be a number, got 'nan'"),
        ("trainer.policy.optimizer_config.lr=inf", "must be a number, got 'inf'"),
        ("trainer.policy.optimizer_config.lr=0", "must be greater than 0, got '0'"),
        ("trainer.dump_eval_results=yes", "must be true or false, got 'yes'"),
        ("trainer.resume_mode=foo", "must be one of latest, none, null, from_path, got 'foo'"),
        ("trainer.algorithm.loss_reduction=sum", "must be one of token_mean, "),
        ("trainer.max_ckpts_to_keep=0", "trainer.max_ckpts_to_keep must not be 0"),
        ("trainer.resume_mode=from_path", "needs trainer.resume_path"),
    ],
)
def test_a_wrong_setting_gives_one_clear_line(argument: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse([argument], run_folder=RUN)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_settings_come_back_by_their_keys() -> None:
    config = parse(["trainer.algorithm.policy_loss_type=dual_clip"], run_folder=RUN)
    keys = config.as_keys()
    assert keys["trainer.algorithm.policy_loss_type"] == "dual_clip"
    again = parse(
        [f"{key}={value}" for key, value in keys.items() if value != ""], run_folder=Path()
    )
    assert again == config


def test_only_dual_clip_bounds_a_bad_tokens_loss() -> None:
    assert Config().clip == Clip(0.2, 0.28, None)
    assert Config(policy_loss_type="dual_clip").clip == Clip(0.2, 0.28, 3.0)
