"""From what a text says to a config of a recipe, with nothing left out in silence."""

import re
from collections.abc import Mapping
from typing import Any

from app.recipes.model import JOB, RUN_ID, Recipe, Value
from app.recipes.parsing.expand import RUN_MARK
from app.recipes.parsing.found import Found
from app.recipes.skyrl.overrides import Parsed, check_values, parse_overrides
from app.recipes.skyrl.refusals import split
from app.recipes.skyrl.tree import KeyTree
from app.recipes.skyrl_checks import tree_of

_MOST_OVERRIDES = 500
# SkyRL has some 400 keys; a dump names all, a person's own file a few.
_WHOLE_DUMP = 200
_ENTRYPOINT, _SETUP = "job.entrypoint", "job.setup_commands"
# A script that looks for the file that it stands in.
_OWN_FILE = re.compile(r"BASH_SOURCE|\$\{?0\b")
_COMMAND_KEYS = ("job.environment", _SETUP, "job.working_dir", "job.excludes")


def from_script(recipe: Recipe, found: Found) -> dict[str, Value]:
    """The config of a script's overrides and of what it does around them."""
    parsed = _parse(recipe, found)
    _list_programs(found)
    config = dict(parsed.values)
    job = found.job
    _data_sets(config, job, found)
    _model(config, job, found)
    config |= {key: value for key, value in job.items() if key.startswith(JOB)}
    return _complete(recipe, config)


def _parse(recipe: Recipe, found: Found) -> Parsed:
    if len(found.overrides) > _MOST_OVERRIDES:
        line, text = found.overrides[_MOST_OVERRIDES]
        count = len(found.overrides)
        reason = f"there are {count:,} overrides, of which {_MOST_OVERRIDES} are read"
        found.miss(line, text, reason)
        del found.overrides[_MOST_OVERRIDES:]
    parsed = parse_overrides([text for _, text in found.overrides], _tree(recipe))
    _list_unread(parsed, found)
    return parsed


def from_values(
    recipe: Recipe, values: Mapping[str, Any], found: Found, *, is_ours: bool
) -> dict[str, Value]:
    """The config of a document. What names only some keys is laid over the recipe's values."""
    fields = recipe.fields()
    if recipe.tree is None:
        return _flat(values, fields)
    job = {key: each for key, each in _flat(values, fields).items() if key.startswith(JOB)}
    others = {key: each for key, each in values.items() if key.partition(".")[0] != "job"}
    tree = _tree(recipe)
    parsed = check_values(others, tree)
    for problem in parsed.problems:
        if problem.rule == "too_large":
            found.miss(1, "", problem.message)
    if is_ours or len(parsed.values) < _WHOLE_DUMP:
        if not is_ours:
            found.note(1, "", "keys that the text does not name take the recipe's values")
        return {**parsed.values, **job}
    defaults = tree.defaults()
    told = {
        key: value
        for key, value in parsed.values.items()
        if key in fields or key not in defaults or defaults[key] != value
    }
    return _complete(recipe, told | job)


def from_list(recipe: Recipe, found: Found) -> dict[str, Value]:
    """The config of overrides alone: they are laid over the recipe's values.

    Commands that stand between them are read as in a script.
    """
    config = dict(_parse(recipe, found).values)
    _list_programs(found)
    job = found.job
    if job.keys() & {"made", "download"}:
        complete = recipe.defaults() | config
        _data_sets(complete, job, found)
        _model(complete, job, found)
    found.note(1, "", "keys that the list does not name take the recipe's values")
    return config | {key: value for key, value in job.items() if key.startswith(JOB)}


def from_command(recipe: Recipe, found: Found, text: str) -> dict[str, Value]:
    """A config of the recipe for any command.

    One command with variables and installations before it becomes values of their own. All else
    is kept as the script that it is.
    """
    if found.submitted:
        return _submitted(recipe, found)
    is_whole = not (found.is_own or (found.is_plain and found.programs))
    if is_whole and found.has_commands:
        return {_ENTRYPOINT: _whole(recipe, found, text.strip())}
    if not found.programs:
        if not found.unresolved:
            found.miss(1, "", "there is no command and no override in this text")
        return {}
    config: dict[str, Value] = {k: v for k, v in found.job.items() if k in _COMMAND_KEYS}
    *before, (line, last) = found.programs
    for place, each in before:
        found.miss(place, each, "only the last command of Skydeck's own script is taken")
    return config | {_ENTRYPOINT: _short_enough(recipe, found, line, last)}


def _submitted(recipe: Recipe, found: Found) -> dict[str, Value]:
    """What is handed over; other commands run where it is submitted."""
    for line, text in found.programs:
        if (line, text) not in found.handed:
            found.miss(line, text, "it runs where the job is submitted, and not in the job")
    config: dict[str, Value] = {k: v for k, v in found.job.items() if k in _COMMAND_KEYS}
    setup = found.job.get(_SETUP, [])[: found.setup_before]
    config = {k: v for k, v in config.items() if k != _SETUP} | ({_SETUP: setup} if setup else {})
    return config | {_ENTRYPOINT: _short_enough(recipe, found, 1, found.submitted)}


def _whole(recipe: Recipe, found: Found, text: str) -> str:
    found.unresolved, found.notes = list(found.faults), []
    found.note(1, "", "the script is kept whole, as the command: bash runs it as it stands")
    first = text.partition("\n")[0]
    if first.startswith("#!") and not first.rstrip().split(" -")[0].endswith("sh"):
        found.miss(1, first, "it is no script of a shell: keep it in a file of your code")
    for number, line in enumerate(text.splitlines(), start=1):
        if _OWN_FILE.search(line):
            found.miss(number, line, "as a command the script has no file and no folder of its own")
    return _short_enough(recipe, found, 1, text)


def _short_enough(recipe: Recipe, found: Found, line: int, text: str) -> str:
    longest = recipe.fields()[_ENTRYPOINT].longest
    if len(text) > longest:
        reason = f"a command has at most {longest:,} characters: keep it in a file of your code"
        found.miss(line, text, reason)
    return text


def with_run_id(value: Value) -> Value:
    """The value with `{run_id}` where the run's id stood in the text."""
    if isinstance(value, str):
        return value.replace(RUN_MARK, RUN_ID)
    if isinstance(value, list):
        return [with_run_id(each) for each in value]
    if isinstance(value, dict):
        return {key: with_run_id(each) for key, each in value.items()}
    return value


def _tree(recipe: Recipe) -> KeyTree:
    assert recipe.tree is not None
    return tree_of(recipe.tree)


def _list_programs(found: Found) -> None:
    for line, text in found.programs:
        first = text.split()[0]
        is_override = first.startswith(("~", "+")) and "." in first
        reason = "it is no key=value override" if is_override else f"{first} is not known here"
        found.miss(line, text, reason)


def _list_unread(parsed: Parsed, found: Found) -> None:
    reasons = {field: each.message for each in parsed.problems for field in each.fields}
    for line, text in found.overrides:
        key = split(text)[0]
        if not any(known == key or known.startswith(f"{key}.") for known in parsed.values):
            said = reasons.get(key) or next(
                (p.message for p in parsed.problems if not p.fields), ""
            )
            found.miss(line, text, said or "SkyRL reads no value from it")


def _complete(recipe: Recipe, config: dict[str, Any]) -> dict[str, Value]:
    """With what counts for keys that the text does not name, where the recipe has another."""
    absent = {key: value for key, value in recipe.absent.items() if key not in config}
    return config | absent


def _data_sets(config: dict[str, Any], job: dict[str, Any], found: Found) -> None:
    """What the script's data set commands make, if its overrides read just that."""
    made = {output: each for *each, output in job.pop("made", [])}
    train = made.pop(_first(config.get("data.train_data")), None)
    evaluation = made.pop(_first(config.get("data.val_data")), None)
    leftover = list(made.values())
    if train and evaluation and train[2] == evaluation[2] and evaluation[4] == 0:
        job["job.make_data"] = True
        job["job.env_id"] = train[2]
        job["job.train_rows"], job["job.train_seed_offset"] = train[3], train[4]
        job["job.eval_rows"] = evaluation[3]
        reason = "no override reads the rows that it writes"
    else:
        leftover += [each for each in (train, evaluation) if each]
        reason = "training rows and seeded eval rows of one environment are needed, or none"
    for line, text, *_ in leftover:
        found.miss(line, text, reason)


def _model(config: Mapping[str, Any], job: dict[str, Any], found: Found) -> None:
    """The download, if it is the base model's."""
    moves = job.pop("moves", [])
    if "download" not in job:
        return
    line, text, target, folder = job.pop("download")
    path = str(config.get("trainer.policy.model.path", "")).rstrip("/")
    places = [target.rstrip("/"), f"{target.rstrip('/')}/{folder}".rstrip("/")]
    if path not in places + [move.rstrip("/") for move in moves]:
        for key in ("job.base_model_repo", "job.base_model_folder", "job.base_model_revision"):
            del job[key]
        found.miss(line, text, f"it is not downloaded to trainer.policy.model.path ({path})")


def _first(value: Any) -> Any:
    if isinstance(value, list):
        return value[0] if value and isinstance(value[0], str) else None
    return value if isinstance(value, str) else None


def _flat(
    values: Mapping[str, Any], fields: Mapping[str, object], prefix: str = ""
) -> dict[str, Value]:
    """Values by dotted key: groups are taken apart, dicts that are a field's value are not."""
    flat: dict[str, Value] = {}
    for key, value in values.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict) and path not in fields:
            flat |= _flat(value, fields, f"{path}.")
        else:
            flat[path] = value
    return flat
