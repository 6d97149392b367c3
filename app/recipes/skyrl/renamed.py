"""Keys that SkyRL took out or renamed, and what it says to them before it builds a config.

From `SkyRLTrainConfig.from_cli_overrides` (0.4.0 and commit a9564572 agree). Containers are
OmegaConf's or plain dicts: an interpolation is looked up by OmegaConf where it stands.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from app.recipes.model import Finding
from app.recipes.skyrl.refusals import unresolved

_ENGINE = "generator.inference_engine"
_OVERRIDES = f"{_ENGINE}.engine_init_kwargs.hf_overrides"
_ROPE_NAMES = ("rope_scaling", "rope_theta", "rope_parameters")
_ROPE = (
    *(
        f"{group}.{name}"
        for group in ("trainer", "generator", _ENGINE, f"{_ENGINE}.engine_init_kwargs")
        for name in _ROPE_NAMES
    ),
    f"{_OVERRIDES}.rope_scaling",
    f"{_OVERRIDES}.rope_theta",
)
_ROPE_OF_ENGINE = f"{_OVERRIDES}.rope_parameters"
_ROPE_OF_MEGATRON = "trainer.policy.megatron_config.transformer_config_kwargs.rope_parameters"
_ROPE_OF_FSDP = "trainer.policy.model_config_kwargs.rope_parameters"
_ASYNC = f"{_ENGINE}.async_engine"
_GONE = ("enable_http_endpoint", "override_existing_update_group")
_PACKING = "trainer.use_sample_packing"
_PADDING = "trainer.remove_microbatch_padding"
_OLD_EXAMPLES = "trainer.log_example_interval"
_EXAMPLES = "trainer.print_example_interval"
_ABSENT = object()


def replace_renamed(config: Any) -> tuple[list[Finding], list[Finding]]:
    """Applies what SkyRL renames, in `config` itself. Gives (problems, notes)."""
    problems: list[Finding] = []
    notes: list[Finding] = []
    for step in (
        _rope,
        _matching_rope,
        _async_engine,
        _gone,
        _remote_urls,
        _sample_packing,
        _examples,
    ):
        try:
            for refuses, finding in step(config):
                (problems if refuses else notes).append(finding)
        except TypeError:  # what `in` says to a number or None
            problems += _single_values(config)
        except Exception as error:  # an interpolation on the way
            problems.append(unresolved(error))
    return problems, notes


def group_value(key: str, value: object) -> Finding:
    """A single value stands where a group of keys belongs."""
    return Finding(
        rule="group_value",
        fields=(key,),
        message=f"{key} is a group of keys and cannot be {str(value)[:60]!r}",
        fix=f"set keys of it, {key}.…=…",
    )


_Step = Iterator[tuple[bool, Finding]]


def _rope(config: Any) -> _Step:
    for key in _ROPE:
        if _find(config, key) is not _ABSENT:
            instead = f"set {_ROPE_OF_ENGINE} and {_ROPE_OF_FSDP} (Megatron: {_ROPE_OF_MEGATRON})"
            yield True, _removed(key, instead)


def _matching_rope(config: Any) -> _Step:
    engine = _find(config, _ROPE_OF_ENGINE)
    if engine is _ABSENT:
        return
    strategy = _find(config, "trainer.strategy")
    key = _ROPE_OF_MEGATRON if strategy == "megatron" else _ROPE_OF_FSDP
    if engine != _find(config, key):
        message = f"{_ROPE_OF_ENGINE} and {key} have to be the same"
        yield True, Finding(rule="rope_mismatch", fields=(_ROPE_OF_ENGINE, key), message=message)


def _async_engine(config: Any) -> _Step:
    value = _find(config, _ASYNC)
    if value is _ABSENT:
        return
    if value is True or (isinstance(value, str) and value.lower() == "true"):
        _delete(config, _ASYNC)
        yield False, _removed(_ASYNC, "remove it: the engine is always asynchronous")
    else:
        yield True, _removed(_ASYNC, "remove it: the engine is always asynchronous")


def _gone(config: Any) -> _Step:
    for name in _GONE:
        if _find(config, f"{_ENGINE}.{name}") is not _ABSENT:
            yield True, _removed(f"{_ENGINE}.{name}", "remove it: SkyRL decides this by itself")


def _remote_urls(config: Any) -> _Step:
    if (
        "generator" in config
        and "inference_engine" in config["generator"]
        and "remote_urls" in config["generator"]["inference_engine"]
    ):
        key = f"{_ENGINE}.remote_urls"
        yield (
            True,
            _removed(key, f"set {_ENGINE}.external_proxy_url or {_ENGINE}.external_server_urls"),
        )


def _sample_packing(config: Any) -> _Step:
    if "trainer" not in config or "use_sample_packing" not in config["trainer"]:
        return
    trainer = config["trainer"]
    if "remove_microbatch_padding" in trainer:
        message = f"{_PACKING} is the old name of {_PADDING}: only one of them may be set"
        yield (
            True,
            Finding(
                rule="renamed_key",
                fields=(_PACKING, _PADDING),
                message=message,
                fix=f"remove {_PACKING}",
            ),
        )
        return
    trainer["remove_microbatch_padding"] = trainer["use_sample_packing"]
    del trainer["use_sample_packing"]
    yield (
        False,
        Finding(
            rule="renamed_key",
            fields=(_PACKING,),
            message=f"{_PACKING} is called {_PADDING} now; it was taken as that",
            fix=f"write {_PADDING}",
        ),
    )


def _single_values(config: Any) -> Iterator[Finding]:
    for key in ("trainer", "generator", _ENGINE):
        value = _find_node(config, key)
        if value is not _ABSENT and not isinstance(value, Mapping | str):
            yield group_value(key, value)


def _examples(config: Any) -> _Step:
    if _find(config, _OLD_EXAMPLES) is not _ABSENT:
        yield (
            False,
            Finding(
                rule="renamed_key",
                fields=(_OLD_EXAMPLES,),
                message=f"{_OLD_EXAMPLES} is called {_EXAMPLES} now; above 0 it takes its place",
                fix=f"write {_EXAMPLES}",
            ),
        )


def _removed(key: str, fix: str) -> Finding:
    return Finding(rule="removed_key", fields=(key,), message=f"SkyRL no longer has {key}", fix=fix)


def _find(config: Any, path: str) -> Any:
    node = _find_node(config, path)
    if isinstance(node, dict) or not isinstance(node, Mapping):
        return node
    from omegaconf import OmegaConf

    return OmegaConf.to_container(node, resolve=True)


def _find_node(config: Any, path: str) -> Any:
    node = config
    for name in path.split("."):
        if not isinstance(node, Mapping) or name not in node:
            return _ABSENT
        node = node[name]
    return node


def _delete(config: Any, path: str) -> None:
    *groups, name = path.split(".")
    for group in groups:
        config = config[group]
    del config[name]
