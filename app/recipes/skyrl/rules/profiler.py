"""V18: the torch profiler's settings (`TorchProfilerConfig.validate`)."""

from collections.abc import Iterator

from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.context import Context
from app.recipes.skyrl.rules.parallel import strategy
from app.recipes.skyrl.rules.paths import is_cloud
from app.recipes.skyrl.rules.registry import Flaw, Kind, rule
from app.recipes.skyrl.rules.view import View, shown

_PROFILER = "trainer.policy.torch_profiler_config"
_ENABLE = k.name(f"{_PROFILER}.enable")
_OFFLOAD = k.name("trainer.policy.fsdp_config.cpu_offload")


@rule(Kind.REFUSED, "V18.profiler_lists", f"{_PROFILER}.ranks", f"{_PROFILER}.activities")
def profiler_lists(at: View, _: Context) -> Iterator[Flaw]:
    if not at.get(_ENABLE):
        return
    for name, default in (("ranks", [0]), ("activities", ["cpu", "cuda"])):
        key = k.name(_PROFILER, name)
        if not at.get(key):
            yield Flaw(
                message=f"{key} must not be empty when {_ENABLE} is on",
                fix=f"use {default}",
                fix_values={key: default},
                fields=(key,),
            )


@rule(Kind.REFUSED, "V18.profiler_activities", f"{_PROFILER}.activities")
def profiler_activities(at: View, _: Context) -> Iterator[Flaw]:
    key = k.name(_PROFILER, "activities")
    if not at.get(_ENABLE):
        return
    wrong = [name for name in at.get(key) or () if name.lower() not in ("cpu", "cuda")]
    if wrong:
        yield Flaw(
            message=f"{key} may hold cpu and cuda only, not {', '.join(map(shown, wrong[:3]))}",
            fix="use ['cpu', 'cuda']",
            fix_values={key: ["cpu", "cuda"]},
        )


@rule(Kind.REFUSED, "V18.profiler_path", f"{_PROFILER}.save_path", _ENABLE)
def profiler_path(at: View, _: Context) -> Iterator[Flaw]:
    key = k.name(_PROFILER, "save_path")
    if not at.get(_ENABLE):
        return
    path = at.get(key)
    if not path or is_cloud(path):
        yield Flaw(
            message=f"{key} must be a local, absolute path when {_ENABLE} is on, not {shown(path)}",
            fix="use /tmp/skyrl-profile",
            fix_values={key: "/tmp/skyrl-profile"},  # noqa: S108 a path on the cluster's nodes
        )


@rule(Kind.REFUSED, "V18.profiler_export", f"{_PROFILER}.export_type", f"{_PROFILER}.with_stack")
def profiler_export(at: View, _: Context) -> Iterator[Flaw]:
    key, stack = k.name(_PROFILER, "export_type"), k.name(_PROFILER, "with_stack")
    if not at.get(_ENABLE):
        return
    if at.get(key) not in ("chrome_trace", "stacks"):
        message = f"{key} must be chrome_trace or stacks, not {shown(at.get(key))}"
        yield Flaw(message=message, fix="use chrome_trace", fix_values={key: "chrome_trace"})
    elif at.get(key) == "stacks" and not at.get(stack):
        message = f"{key} stacks needs {stack} true"
        yield Flaw(message=message, fix="use true", fix_values={stack: True})


@rule(Kind.REFUSED, "V18.profiler_schedule", f"{_PROFILER}.active")
def profiler_schedule(at: View, _: Context) -> Iterator[Flaw]:
    if not at.get(_ENABLE):
        return
    least = {"skip_first": 0, "wait": 0, "warmup": 0, "repeat": 0, "active": 1}
    for name, least_value in least.items():
        key = k.name(_PROFILER, name)
        if at.get(key) < least_value:
            yield Flaw(
                message=f"{key} must be at least {least_value}, not {shown(at.get(key))}",
                fix=f"use {least_value}",
                fix_values={key: least_value},
                fields=(key,),
            )


@rule(Kind.REFUSED, "V18.profiler_offload", _ENABLE, _OFFLOAD, k.COLOCATE, k.COLOCATE_REF)
def profiler_offload(at: View, _: Context) -> Iterator[Flaw]:
    if not at.get(_ENABLE) or strategy(at) != "fsdp" or at.get(_OFFLOAD) is not False:
        return
    if at.get(k.COLOCATE) or at.get(k.COLOCATE_REF):
        yield Flaw(
            message=f"{_ENABLE} with FSDP and co-location needs {_OFFLOAD} true: SkyRL swaps "
            "parameters while the profiler holds them",
            fix=f"use {_OFFLOAD} true",
            fix_values={_OFFLOAD: True},
        )
