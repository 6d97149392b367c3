"""V17, E4, and traps of checkpoints and exports: where they lie, when they are made."""

from collections.abc import Iterator

from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.context import Context
from app.recipes.skyrl.rules.parallel import strategy
from app.recipes.skyrl.rules.paths import (
    free_folder,
    is_cloud,
    is_node_local,
    same_folder,
    step_of,
)
from app.recipes.skyrl.rules.registry import Flaw, Kind, rule
from app.recipes.skyrl.rules.schedule import steps_per_epoch, total_steps
from app.recipes.skyrl.rules.view import View, shown

_KEPT = k.name("trainer.max_ckpts_to_keep")
_DUMPS = k.name("trainer.dump_eval_results")
_EVERY = 10


@rule(Kind.REFUSED, "V17.ckpts_kept", _KEPT)
def ckpts_kept(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(_KEPT) == 0:
        yield Flaw(
            message=f"{_KEPT} must be above 0, or negative to keep all",
            fix="use -1",
            fix_values={_KEPT: -1},
        )


@rule(Kind.FAILS, "E4.resume_mode", k.RESUME)
def resume_mode(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(k.RESUME) not in (None, "none", "latest", "from_path"):
        yield Flaw(
            message=f"{k.RESUME} must be null, none, latest or from_path, not "
            f"{shown(at.get(k.RESUME))}: SkyRL stops when it builds the trainer",
            fix="use latest",
            fix_values={k.RESUME: "latest"},
        )


@rule(Kind.FAILS, "E4.resume_path", k.RESUME_PATH, k.RESUME)
def resume_path(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(k.RESUME) != "from_path":
        return
    path = at.get(k.RESUME_PATH)
    if not isinstance(path, str) or step_of(path) is None:
        yield Flaw(
            message=f"{k.RESUME} from_path needs {k.RESUME_PATH} of a folder named "
            f"global_step_N, not {shown(path)}",
            fix=f"name the checkpoint's folder, or use {k.RESUME} latest",
            fix_values={k.RESUME: "latest"},
        )


@rule(Kind.WARNING, "trap.lora_cloud_ckpt", k.CKPT_PATH, k.RANK, k.STRATEGY)
def lora_cloud_ckpt(at: View, context: Context) -> Iterator[Flaw]:
    path = at.text(k.CKPT_PATH)
    is_fsdp_lora = at.whole(k.RANK) > 0 and strategy(at) == "fsdp"
    if is_fsdp_lora and is_cloud(path) and at.number(k.CKPT_EVERY) > 0:
        folder = _ckpt_folder(at, context)
        yield Flaw(
            message=f"{k.CKPT_PATH} {shown(path)}: SkyRL cannot save LoRA adapters of FSDP to "
            "cloud storage; the run stops at its first checkpoint",
            fix=f"use a shared folder, such as {folder}, and copy checkpoints from there",
            fix_values={k.CKPT_PATH: folder},
        )


@rule(Kind.WARNING, "trap.ckpt_node_local", k.CKPT_PATH)
def ckpt_node_local(at: View, context: Context) -> Iterator[Flaw]:
    path = at.text(k.CKPT_PATH)
    if at.number(k.CKPT_EVERY) > 0 and is_node_local(path, context.shared_paths):
        folder = _ckpt_folder(at, context)
        yield Flaw(
            message=f"{k.CKPT_PATH} {shown(path)} lies on one node: it is lost with the node, "
            "and with several nodes no checkpoint is whole",
            fix=f"use a folder that all nodes share, such as {folder}",
            fix_values={k.CKPT_PATH: folder},
        )


@rule(Kind.WARNING, "trap.ckpt_shared", k.CKPT_PATH, k.RESUME)
def ckpt_shared(at: View, context: Context) -> Iterator[Flaw]:
    path = at.text(k.CKPT_PATH)
    users = [
        run.name
        for run in context.other_runs
        if run.ckpt_path is not None and same_folder(run.ckpt_path, path)
    ]
    if users:
        folder = _ckpt_folder(at, context)
        resumes = at.get(k.RESUME) == "latest"
        yield Flaw(
            message=f"{k.CKPT_PATH} {shown(path)} is also that of {', '.join(users[:3])}: "
            + ("this run would go on from their checkpoints" if resumes else "they overwrite each")
            + (", whatever its config" if resumes else " other"),
            fix=f"use a folder of this run's own, such as {folder}",
            fix_values={k.CKPT_PATH: folder},
        )


@rule(Kind.WARNING, "trap.export_cloud", k.EXPORT_PATH, _DUMPS)
def export_cloud(at: View, context: Context) -> Iterator[Flaw]:
    path = at.text(k.EXPORT_PATH)
    if is_cloud(path) and at.get(_DUMPS):
        folder = _run_folder(at, context)
        yield Flaw(
            message=f"{k.EXPORT_PATH} {shown(path)}: SkyRL dumps evaluations only to local paths "
            "and makes a folder named s3: on the node, so there is no solve rate",
            fix=f"use a shared folder, such as {folder}",
            fix_values={k.EXPORT_PATH: folder},
        )


@rule(Kind.WARNING, "trap.export_node_local", k.EXPORT_PATH)
def export_node_local(at: View, context: Context) -> Iterator[Flaw]:
    path = at.text(k.EXPORT_PATH)
    if is_node_local(path, context.shared_paths):
        folder = _run_folder(at, context)
        yield Flaw(
            message=f"{k.EXPORT_PATH} {shown(path)} lies on one node: adapters and evaluations "
            "are lost with it",
            fix=f"use a folder that all nodes share, such as {folder}",
            fix_values={k.EXPORT_PATH: folder},
        )


@rule(Kind.WARNING, "trap.no_dump", _DUMPS)
def no_dump(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(_DUMPS) is False:
        yield Flaw(
            message=f"{_DUMPS} is off: without dumps there is no solve rate, only pass_at_1",
            fix="use true",
            fix_values={_DUMPS: True},
        )


@rule(Kind.WARNING, "trap.no_ckpt_interval", k.CKPT_EVERY)
def no_ckpt_interval(at: View, context: Context) -> Iterator[Flaw]:
    yield from _never(at, context, k.CKPT_EVERY, "a run that is stopped starts from its beginning")


@rule(Kind.WARNING, "trap.no_export_interval", k.EXPORT_EVERY)
def no_export_interval(at: View, context: Context) -> Iterator[Flaw]:
    yield from _never(at, context, k.EXPORT_EVERY, "no adapter is exported that could be served")


@rule(Kind.WARNING, "trap.no_eval_interval", k.EVAL_EVERY)
def no_eval_interval(at: View, context: Context) -> Iterator[Flaw]:
    yield from _never(at, context, k.EVAL_EVERY, "SkyRL does not even load the evaluation data")


@rule(Kind.WARNING, "trap.saves_at_epoch_end", k.CKPT_EVERY, k.EXPORT_EVERY)
def saves_at_epoch_end(at: View, context: Context) -> Iterator[Flaw]:
    epoch = steps_per_epoch(at, context)
    every = {key: at.whole(key) for key in (k.CKPT_EVERY, k.EXPORT_EVERY)}
    wrong = {key: value for key, value in every.items() if value > 0 and epoch % value != 0}
    if not wrong or total_steps(at, context) < epoch:
        return
    values = {key: _divisor_near(epoch, value) for key, value in wrong.items()}
    said = " and ".join(f"{key} {value}" for key, value in wrong.items())
    yield Flaw(
        message=f"SkyRL also saves at each epoch's end, here every {epoch} steps: with {said} it "
        f"saves at {_saves(epoch, next(iter(wrong.values())))}, …",
        fix="use " + " and ".join(f"{key} {value}" for key, value in values.items()),
        fix_values=values,
        fields=tuple(wrong),
    )


@rule(Kind.WARNING, "trap.resume_loses_epoch", k.RESUME, k.CKPT_EVERY)
def resume_loses_epoch(at: View, context: Context) -> Iterator[Flaw]:
    if context.resumes_safely or at.whole(k.CKPT_EVERY) <= 0:
        return
    mode = at.get(k.RESUME)
    epoch = None if context.train is None else steps_per_epoch(at, context)
    step = step_of(at.text(k.RESUME_PATH)) if mode == "from_path" else None
    if mode != "latest" and (step is None or epoch is None or step % epoch):
        return
    yield Flaw(
        message="Resumed from a checkpoint at an epoch's end, SkyRL trains nothing for one epoch "
        f"and says nothing; {_which(at.whole(k.CKPT_EVERY), epoch, step)}",
        fix="launch with Skydeck's resume wrapper, which skips the exhausted loader",
    )


def _never(at: View, context: Context, key: str, means: str) -> Iterator[Flaw]:
    if at.whole(key) <= 0:
        every = _usual(at, context)
        yield Flaw(
            message=f"{key} is {at.whole(key)}: {means}",
            fix=f"use {every}",
            fix_values={key: every},
        )


def _usual(at: View, context: Context) -> int:
    """Each epoch's end where the rows are known: SkyRL saves there in any case."""
    if context.train is None:
        return _EVERY
    batch = at.whole(k.TRAIN)
    return max(1, context.train.rows // batch) if batch > 0 else _EVERY


def _which(every: int, epoch: int | None, step: int | None) -> str:
    if epoch is None:
        return "how many steps an epoch has is not known"
    if step is not None:
        return f"step {step} is one, at {epoch} steps an epoch"
    if every % epoch == 0:
        return f"here every checkpoint is one, at {epoch} steps an epoch"
    return f"here that is the checkpoint of every {epoch} steps"


def _saves(epoch: int, every: int) -> str:
    steps = sorted({*(epoch * i for i in range(1, 5)), *(every * i for i in range(1, 5))})
    return ", ".join(map(str, steps[:4]))


def _divisor_near(number: int, value: int) -> int:
    small = range(1, min(number, 4096) + 1)
    divisors = {each for each in small if number % each == 0} | {number}
    return min(divisors, key=lambda each: (abs(each - value), each))


def _run_folder(at: View, context: Context) -> str:
    if context.run_folder is not None:
        return context.run_folder
    base = context.shared_paths[0] if context.shared_paths else "/shared"
    taken = [
        path
        for run in context.other_runs
        for path in (run.ckpt_path, run.export_path)
        if path is not None
    ]
    return free_folder(f"{base}/runs", str(at.get("trainer.run_name")), taken)


def _ckpt_folder(at: View, context: Context) -> str:
    return f"{_run_folder(at, context)}/ckpts"
