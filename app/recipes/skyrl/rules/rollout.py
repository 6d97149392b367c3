"""E5, E6, E11, and traps of rollouts: turns, lengths, sampling, memory, logs."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.context import Context
from app.recipes.skyrl.rules.registry import Flaw, Kind, rule
from app.recipes.skyrl.rules.view import View, shown

_LOGGER = k.name("trainer.logger")
_LOGGERS = ("wandb", "mlflow", "swanlab", "tensorboard", "console")
_MLFLOW = "MLFLOW_TRACKING_URI"
_BATCHED = k.name("generator.batched")
_CONVERSATION = k.name("generator.use_conversation_multi_turn")
_EVAL = "generator.eval_sampling_params"
_PRINTS = k.name("trainer.print_example_interval")
# SkyRL's own co-located examples: 0.8 in most, never above.
_MOST_MEMORY = 0.8
_SELDOM_ENOUGH = 10
_MOST_SAID = 3


@rule(Kind.FAILS, "E5.logger", _LOGGER)
def known_logger(at: View, _: Context) -> Iterator[Flaw]:
    name = at.get(_LOGGER)
    if name not in _LOGGERS:
        several = " (SkyRL has no logger of several)" if isinstance(name, list) else ""
        yield Flaw(
            message=f"{_LOGGER} must be one of {', '.join(_LOGGERS)}, not {shown(name)}{several}: "
            "SkyRL stops when it starts to log",
            fix="use console, which Skydeck reads",
            fix_values={_LOGGER: "console"},
        )


@rule(Kind.WARNING, "trap.mlflow_unheard", _LOGGER)
def mlflow_unheard(at: View, context: Context) -> Iterator[Flaw]:
    """With this logger SkyRL prints no metrics: what reaches no server is in no log either."""
    cluster = context.cluster
    if at.get(_LOGGER) != "mlflow" or _MLFLOW in context.environment:
        return
    if cluster is None or cluster.reaches_us:
        return
    said = (
        f"nobody has checked yet whether jobs on {cluster.name} reach Skydeck"
        if cluster.reaches_us is None
        else f"the last check of {cluster.name} found that jobs there do not reach Skydeck"
    )
    yield Flaw(
        message=f"{_LOGGER} mlflow sends all metrics to Skydeck and prints none, and {said}: they "
        "may be lost",
        fix="check the cluster's connection first, or use console, which Skydeck reads",
        fix_values={_LOGGER: "console"},
    )


@rule(Kind.FAILS, "E6.vision_generator", k.VISION, _BATCHED, k.STEP_WISE, _CONVERSATION)
def vision_generator(at: View, _: Context) -> Iterator[Flaw]:
    if not at.get(k.VISION):
        return
    wanted = {_BATCHED: False, k.STEP_WISE: False, _CONVERSATION: True}
    wrong = {key: value for key, value in wanted.items() if bool(at.get(key)) is not value}
    if wrong:
        said = " and ".join(f"{key} {shown(value)}" for key, value in wrong.items())
        yield Flaw(
            message=f"{k.VISION} needs {said}: SkyRL stops when it builds the generator",
            fix=f"use {said}",
            fix_values=wrong,
            fields=tuple(wrong),
        )


@rule(Kind.FAILS, "E6.vision_padding", k.VISION, k.PADDING)
def vision_padding(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(k.VISION) and at.get(k.PADDING):
        yield Flaw(
            message=f"{k.VISION} with {k.PADDING} fails in the model: pictures need padding",
            fix=f"use {k.PADDING} false",
            fix_values={k.PADDING: False},
        )


@rule(Kind.FAILS, "E11.window", k.MAX_INPUT, k.MAX_GENERATE, k.WINDOW)
def window(at: View, _: Context) -> Iterator[Flaw]:
    size = at.inside(k.ENGINE_KWARGS, "max_model_len")
    longest, answer = at.whole(k.MAX_INPUT), at.whole(k.MAX_GENERATE)
    if isinstance(size, bool) or not isinstance(size, int) or longest + answer <= size:
        return
    yield Flaw(
        message=f"{k.MAX_INPUT} {longest} + {k.MAX_GENERATE} {answer} = {longest + answer} is "
        f"more than max_model_len {shown(size)} of the engine: long episodes end with an error of "
        "vLLM",
        fix=f"use {k.WINDOW} {longest + answer}"
        + (f", or {k.MAX_INPUT} {size - answer}" if size > answer else ""),
        fix_values={k.WINDOW: longest + answer},
    )


@rule(Kind.WARNING, "trap.context_of_turns", k.TURNS, k.MAX_INPUT, k.MAX_GENERATE)
def context_of_turns(at: View, _: Context) -> Iterator[Flaw]:
    turns, answer = at.whole(k.TURNS), at.whole(k.MAX_GENERATE)
    prompt, longest = at.whole(k.MAX_PROMPT), at.whole(k.MAX_INPUT)
    needed = prompt + (turns - 1) * answer
    if turns <= 1 or answer <= 0 or prompt <= 0 or needed <= longest or longest < prompt:
        return
    fitting = (longest - prompt) // answer + 1
    values = {k.MAX_INPUT: needed}
    size = at.inside(k.ENGINE_KWARGS, "max_model_len")
    if isinstance(size, int) and size < needed + answer:
        values[k.WINDOW] = needed + answer
    yield Flaw(
        message=f"{turns} turns may need {k.MAX_PROMPT} {prompt} + {turns - 1} × {k.MAX_GENERATE} "
        f"{answer} = {needed} tokens, pictures not counted, and {k.MAX_INPUT} is {longest}: if "
        f"answers are that long, episodes end after turn {fitting} with reward 0",
        fix="use "
        + " with ".join(f"{key} {value}" for key, value in values.items())
        + ", or keep it if answers are short",
        fix_values=values,
    )


@rule(Kind.WARNING, "trap.eval_sampling", f"{_EVAL}.temperature")
def eval_sampling(at: View, context: Context) -> Iterator[Flaw]:
    """Setting one key of the group makes the others class defaults, temperature 1.0 among them."""
    given = context.given
    temperature = k.name(_EVAL, "temperature")
    if at.number(temperature) <= 0 or (given is not None and temperature in given):
        return
    values: dict[str, object] = {temperature: 0.0}
    length, answer = k.name(_EVAL, "max_generate_length"), at.whole(k.MAX_GENERATE)
    if at.whole(length) != answer and (given is None or length not in given):
        values[length] = answer
    yield Flaw(
        message=f"Setting {_said(given)} makes the other keys of {_EVAL} class defaults: "
        f"{temperature} is {shown(at.get(temperature))}, so evaluations are not greedy",
        fix="use " + " and ".join(f"{key} {shown(value)}" for key, value in values.items()),
        fix_values=values,
        fields=tuple(values),
    )


def _said(given: Mapping[str, Any] | None) -> str:
    """The keys of the group that the user set, with their values."""
    own = {key: value for key, value in (given or {}).items() if key.startswith(f"{_EVAL}.")}
    said = [f"{k.name(key)} {shown(value)}" for key, value in own.items()]
    return k.listed(said[:_MOST_SAID]) if said else "one of them"


@rule(Kind.WARNING, "trap.colocated_memory", k.GPU_MEMORY, k.COLOCATE)
def colocated_memory(at: View, _: Context) -> Iterator[Flaw]:
    share = at.number(k.GPU_MEMORY)
    if at.get(k.COLOCATE) is True and _MOST_MEMORY < share <= 1:
        yield Flaw(
            message=f"{k.GPU_MEMORY} {share:g} leaves {1 - share:.0%} of each GPU to training, "
            "which shares it: engines or the first weight sync may run out of memory",
            fix=f"use {_MOST_MEMORY} at most; the VisGym tutorial uses 0.45",
            fix_values={k.GPU_MEMORY: _MOST_MEMORY},
        )


@rule(Kind.WARNING, "trap.prints_examples", _PRINTS, k.TURNS)
def prints_examples(at: View, _: Context) -> Iterator[Flaw]:
    every = at.whole(_PRINTS)
    if 0 < every < _SELDOM_ENOUGH and at.whole(k.TURNS) > 1:
        often = "every step" if every == 1 else f"every {every} steps"
        yield Flaw(
            message=f"{_PRINTS} {every} prints a whole episode at {often} and at each evaluation: "
            "it floods the log, and a model can print what looks like metrics",
            fix="use -1; Skydeck shows the episodes of the evaluations",
            fix_values={_PRINTS: -1},
        )
