"""The tutorial's own config: what a user is told of it, and in what words."""

from app.maze.eval_sets import EASY_0_63_T15
from app.recipes.model import Finding
from app.recipes.skyrl.rules import Context, DataSet, check, skyrl_refuses
from tests.processor import processor_under
from tests.recipes.skyrl.rules.tutorial import CLUSTER, EVALUATION, TRAIN, findings, ids, parse

KNOWN = Context(train=TRAIN, evaluation=EVALUATION)


def test_tutorial_is_accepted_and_has_exactly_its_known_traps() -> None:
    parsed = parse()
    found = check(parsed.full, cluster=CLUSTER, context=KNOWN)
    assert not skyrl_refuses(parsed.full)
    assert found.ok
    assert ids(found.warnings) == {
        "trap.lora_cloud_ckpt",
        "trap.saves_at_epoch_end",
        "trap.resume_loses_epoch",
        "trap.unseeded_rows",
        "trap.turns_too_few",
        "trap.lora_vision_tower",
        "trap.context_of_turns",
        "trap.prints_examples",
    }
    assert ids(found.notes) == {"note.log_node_local"}


def test_fixes_leave_only_what_no_value_can_fix() -> None:
    """As our own script does: all fixes taken, seeds given, and the wrapper that resumes."""
    found = check(parse().full, cluster=CLUSTER, context=KNOWN)
    values = {k: v for each in found.warnings for k, v in (each.fix_values or {}).items()}
    overrides = [f"{key}={value}" for key, value in values.items()]
    seeded = Context(
        train=DataSet(rows=256, seeds=range(64, 320)), evaluation=EVALUATION, resumes_safely=True
    )
    again = check(parse(*overrides).full, cluster=CLUSTER, context=seeded)
    assert again.ok
    # More turns may need more tokens again: 17 instead of 15.
    assert ids(again.warnings) <= {"trap.context_of_turns"}


def test_turns_say_how_many_mazes_can_be_solved() -> None:
    warning = _found("trap.turns_too_few")
    assert f"only {EASY_0_63_T15.solvable_count} of the 64 mazes" in warning.message
    assert warning.fix_values == {"generator.max_turns": 17}


def test_every_checkpoint_of_the_tutorial_is_at_an_epochs_end() -> None:
    assert "here every checkpoint is one" in _found("trap.resume_loses_epoch").message
    saves = _found("trap.saves_at_epoch_end")
    assert "10, 20, 30, 40" in saves.message
    assert saves.fix_values == {"trainer.ckpt_interval": 10, "trainer.hf_save_interval": 10}


def test_checkpoints_between_epochs_are_told_from_those_at_their_end() -> None:
    found = findings(parse("trainer.ckpt_interval=5"), KNOWN)
    warning = next(each for each in found if each.rule == "trap.resume_loses_epoch")
    assert "every 10 steps" in warning.message


def test_resuming_from_a_step_inside_an_epoch_loses_nothing() -> None:
    overrides = ("trainer.resume_mode=from_path", "trainer.resume_path=/shared/x/global_step_{}")
    for step, is_lost in ((20, True), (25, False)):
        parsed = parse(overrides[0], overrides[1].format(step))
        assert ("trap.resume_loses_epoch" in ids(findings(parsed, KNOWN))) is is_lost


def test_the_repositorys_own_batch_on_six_gpus_names_two_batches_that_pass() -> None:
    parsed = parse("trainer.train_batch_size=32", "trainer.policy_mini_batch_size=16")
    error = next(each for each in check(parsed.full).errors if each.rule == "E1.whole_strides")
    assert error.message.startswith(
        "train_batch_size 32 does not divide over 6 GPUs with 8 samples"
    )
    assert error.fix is not None
    assert "train_batch_size 30 " in error.fix
    assert "train_batch_size 36 " in error.fix


def test_eval_keys_that_are_set_do_not_warn_of_themselves() -> None:
    given = {"generator.eval_sampling_params.temperature": 0.5}
    parsed = parse("generator.eval_sampling_params.temperature=0.5")
    assert "trap.eval_sampling" not in ids(findings(parsed, Context(given=given)))


def test_eval_length_falls_back_to_the_class_default_too() -> None:
    parsed = parse(
        "generator.sampling_params.max_generate_length=512",
        "generator.eval_sampling_params.top_p=0.9",
    )
    warning = next(e for e in findings(parsed, Context()) if e.rule == "trap.eval_sampling")
    assert warning.fix_values == {
        "generator.eval_sampling_params.temperature": 0.0,
        "generator.eval_sampling_params.max_generate_length": 512,
    }


def test_ten_million_rows_are_not_gone_through() -> None:
    rows = 10_000_000
    known = Context(
        train=DataSet(rows=rows, seeds=range(rows)),
        evaluation=DataSet(rows=rows, seeds=range(rows - 1, 2 * rows)),
    )
    with processor_under(1):
        found = findings(parse(), known)
    warning = next(each for each in found if each.rule == "trap.eval_seeds_trained")
    assert warning.message.startswith("1 of the 10000001 mazes")
    assert warning.fix == f"give the training rows seeds from {2 * rows} on"


def _found(rule: str) -> Finding:
    return next(each for each in findings(parse(), KNOWN) if each.rule == rule)
