"""The programs that launch scripts call, and what their arguments say."""

import json
import re
from pathlib import PurePosixPath

from app.recipes.parsing.arguments import Argument, base_name, named_options, past_options, written
from app.recipes.parsing.found import Found, Remark
from app.recipes.parsing.lexer import Command
from app.recipes.variables import OF_EACH_PACKAGE, name_problem

OWN_VARIABLES = frozenset({"PYTHONPATH", "SKYRL_PYTHONPATH_EXPORT", "SKYDECK_RUN_DIR"})
"""Variables that the job package sets itself."""

OVERRIDE = re.compile(r"(data|trainer|generator|environment)\.[^=\s]+=", re.DOTALL)
_KEY = re.compile(r"[-+~]{0,2}(data|trainer|generator|environment)\.\w")
"""How an override begins, though it may be a wrong one: no program has such a name."""
_PYTHON = re.compile(r"python(3(\.\d+)?)?")
_VARIANT = ("--env_variant", "--env-variant")
_DOWNLOADERS = (("hf", "download"), ("huggingface-cli", "download"))
_INSTALLERS = ("pip", "pip3", "uv", "apt-get", "apt", "conda", "mamba", "npm")
_DATA_SET_OPTIONS = {
    "dataset.py": {"output_dir", "num_rows", "env_id", "seed"},
    "write_dataset.py": {
        "output", "rows", "first_seed", "env_id", "env_class", "not_seeds",
    },
}  # fmt: skip


def set_variable(name: str, value: str, found: Found, line: int) -> None:
    """Takes a variable for the whole job, if a config may set it."""
    if name in OWN_VARIABLES or _is_ours(name, value):
        found.note(line, f"{name}={value}", "the job sets it itself")
        found.is_plain &= name in OF_EACH_PACKAGE
    elif problem := name_problem(name):
        found.is_plain = False
        found.miss(line, f"{name}={value}", problem)
    else:
        found.job.setdefault("job.environment", {})[name] = value


def submitted(arguments: list[Argument], found: Found, command: Command) -> list[Argument] | None:
    """The command that `ray job submit` hands over; None where it is another program."""
    if [each.words[:1] for each in arguments[:3]] != [("ray",), ("job",), ("submit",)]:
        return None
    place = next((i for i, each in enumerate(arguments) if each.words == ("--",)), None)
    if place is None:
        found.miss(command.line, command.text, "it names no command behind --")
        return []
    found.is_plain, found.has_commands = False, True
    handed = arguments[place + 1 :]
    if found.submitted:
        found.miss(command.line, command.text, "a second submission: one config holds one")
        return []
    if not any(each.reason for each in handed):
        found.submitted = " ".join(written(each) for each in handed)
    _submission(arguments[3:place], found, command)
    return handed


def installs(arguments: list[Argument]) -> bool:
    """Whether it is a program that installs others, all of whose words are known."""
    return base_name(arguments[0]) in _INSTALLERS and not any(each.reason for each in arguments)


def read(arguments: list[Argument], found: Found, command: Command) -> bool:
    """Whether the program is one that is known; then all that it says is in `found`."""
    name = base_name(arguments[0])
    first = arguments[1].words[0] if len(arguments) > 1 and arguments[1].words else ""
    if _KEY.match(arguments[0].raw) or all(
        each.words and OVERRIDE.match(each.words[0]) for each in arguments
    ):
        found.is_list = True
        _overrides(arguments, found)
    elif name == "cd" and len(arguments) > 1 and arguments[-1].words:
        _enter(arguments[-1].words[0], found, command)
    elif (name, first) in _DOWNLOADERS:
        _download(arguments[2:], found, command)
    elif installs(arguments):
        _install(found, command)
    elif name == "mv" and _is_downloaded(arguments[1:-1], found) and arguments[-1].words:
        found.job.setdefault("moves", []).append(arguments[-1].words[0])
        found.note(command.line, command.text, "taken as a part of the model's download")
    elif name == "rm" and _is_downloaded(arguments[1:], found):
        found.note(command.line, command.text, "taken as a part of the model's download")
    elif _PYTHON.fullmatch(name):
        return _python(arguments[1:], found, command)
    else:
        return False
    return True


def keep(arguments: list[Argument], found: Found, command: Command) -> None:
    """Keeps a program that is not known here; a config for any command may run it."""
    found.has_commands = True
    reasons = [each.reason for each in arguments if each.reason]
    if reasons or found.programs:
        found.is_plain = False
    if reasons:
        found.miss(command.line, command.text, reasons[0])
    else:
        found.programs.append((command.line, " ".join(written(each) for each in arguments)))


def _submission(arguments: list[Argument], found: Found, command: Command) -> None:
    for name, value in named_options(arguments):
        if name in ("--runtime-env-json",):
            _runtime_env(str(value), found, command)
        elif name == "--working-dir" and isinstance(value, str):
            _working_dir(value, found, command)
        elif name.startswith(("--entrypoint-num", "--entrypoint-mem", "--entrypoint-res")):
            found.miss(command.line, f"{name} {value}", "what the driver asks for is not taken")
        elif not name:
            found.miss(command.line, " ".join(value), "it is no option of a submission")
        elif name == "--runtime-env":
            found.miss(command.line, f"{name} {value}", "it is in another file: paste its content")
        else:
            found.note(command.line, f"{name} {value}", "Skydeck chooses it at each launch")


def _install(found: Found, command: Command) -> None:
    found.has_commands = True
    if found.programs:
        found.is_plain = False
    if command.ended_by == "||":
        found.miss(command.line, command.text, "it may fail here (||): a set-up command may not")
    else:
        found.job.setdefault("job.setup_commands", []).append(command.text)


def _is_downloaded(arguments: list[Argument], found: Found) -> bool:
    """Whether all paths lie in the folder that the model is downloaded to."""
    if "download" not in found.job:
        return False
    folder = found.job["download"][2].rstrip("/")
    paths = [each for each in arguments if not each.raw.startswith("-")]
    return bool(paths) and all(
        each.words
        and ".." not in PurePosixPath(each.words[0]).parts
        and f"{each.words[0].rstrip('/')}/".startswith(f"{folder}/")
        for each in paths
    )


def merge(outer: Found, inner: Found, line: int) -> None:
    """Adds what a nested text says, at the line that holds it."""
    outer.overrides += [(line, text) for _, text in inner.overrides]
    environment = outer.job.get("job.environment", {}) | inner.job.pop("job.environment", {})
    setup = outer.job.get("job.setup_commands", []) + inner.job.pop("job.setup_commands", [])
    outer.job |= inner.job
    outer.job |= {"job.environment": environment} if environment else {}
    outer.job |= {"job.setup_commands": setup} if setup else {}
    outer.is_skyrl |= inner.is_skyrl
    outer.has_commands |= inner.has_commands
    outer.faults += [Remark(line, each.text, each.reason) for each in inner.faults]
    outer.programs += [(line, text) for _, text in inner.programs]
    for remark in inner.unresolved:
        outer.miss(line, remark.text, remark.reason)
    for remark in inner.notes:
        outer.note(line, remark.text, remark.reason)


def _python(arguments: list[Argument], found: Found, command: Command) -> bool:
    arguments = past_options(arguments, keep=("-m", "-c", "-"))
    script = arguments[0].words[0] if arguments and arguments[0].words else ""
    name = PurePosixPath(script).name
    rest = arguments[1:]
    if name in ("dataset.py", "write_dataset.py"):
        _data_set(name, rest, found, command)
    elif name in ("copy_to_s3.py", "get_code.py"):
        _own_program(name, rest, found, command)
    elif _is_skyrl(script, rest):
        _train(script, rest, found, command)
    else:
        return False
    return True


def _is_skyrl(script: str, rest: list[Argument]) -> bool:
    module = rest[0].words[0] if script == "-m" and rest and rest[0].words else script
    if any(each.words and each.words[0].partition("=")[0] in _VARIANT for each in rest):
        return True
    has_overrides = any(each.words and OVERRIDE.match(each.words[0]) for each in rest)
    return has_overrides and re.search(r"skyrl|visgym|examples/train", module) is not None


def _train(script: str, rest: list[Argument], found: Found, command: Command) -> None:
    if found.is_skyrl:
        found.miss(command.line, command.text, "a second trainer: one config holds one")
        return
    found.is_skyrl = True
    if script == "-m":
        script, rest = "".join(rest[0].words), rest[1:]
    folder = script.partition("/examples/")[0]
    if script.startswith("/") and "/examples/" in script:
        found.job["job.skyrl_dir"] = folder
    elif PurePosixPath(script).name not in ("entrypoint.py", "train.py"):
        found.miss(command.line, script, "VisGym's own entry point is started instead of it")
    kept: list[Argument] = []
    skip = False
    for place, each in enumerate(rest):
        name, equals, value = (each.words[0] if each.words else "").partition("=")
        if skip:
            skip = False
        elif name in _VARIANT:
            following = rest[place + 1].words if place + 1 < len(rest) else ()
            found.job["job.env_variant"] = value if equals else "".join(following[:1])
            skip = not equals
        else:
            kept.append(each)
    _overrides(kept, found)


def _overrides(arguments: list[Argument], found: Found) -> None:
    for each in arguments:
        if each.reason:
            if "${@" in each.raw or "$@" in each.raw or "$*" in each.raw:
                found.note(each.line, each.raw, "arguments of the script: none are given")
            else:
                found.miss(each.line, each.raw, each.reason)
        for word in each.words:
            if "=" in word and not word.startswith("-"):
                found.overrides.append((each.line, word))
            else:
                found.miss(each.line, word, "it is no key=value override")


def _enter(folder: str, found: Found, command: Command) -> None:
    if folder.startswith("/"):
        found.job["job.skyrl_dir"] = folder
    elif folder == "." or folder.startswith("./"):
        found.note(command.line, command.text, "the job works in SkyRL's folder")
    else:
        reason = "the job works in SkyRL's folder: name the folder by its whole path"
        found.miss(command.line, command.text, reason)


def _download(arguments: list[Argument], found: Found, command: Command) -> None:
    options = dict(named_options(arguments))
    positional = options.pop("", [])
    include = options.pop("--include", "")
    include = include or (positional[1] if len(positional) > 1 else "")
    target, revision = options.pop("--local-dir", ""), options.pop("--revision", "main")
    options.pop("--local-dir-use-symlinks", "")
    folder = str(include).removesuffix("/*").removesuffix("/**")
    reasons = [each.reason for each in arguments if each.reason]
    if reasons or not positional or not target or len(positional) > 2:
        reason = reasons[0] if reasons else "a repository and a --local-dir are needed"
        found.miss(command.line, command.text, reason)
    elif options or (include and (folder == include or "*" in folder)):
        odd = f"--include {include}" if not options else next(iter(options))
        found.miss(command.line, command.text, f"{odd} is not taken: only one folder, as FOLDER/*")
    else:
        found.job["download"] = (command.line, command.text, str(target), folder)
        found.job["job.base_model_repo"] = positional[0]
        found.job["job.base_model_folder"] = folder
        found.job["job.base_model_revision"] = revision


def _data_set(name: str, arguments: list[Argument], found: Found, command: Command) -> None:
    reasons = [each.reason for each in arguments if each.reason]
    options = {k.replace("-", "_").strip("_"): v for k, v in named_options(arguments, ("--seed",))}
    is_own = name == "write_dataset.py"
    strange = [key for key in options if key not in _DATA_SET_OPTIONS[name]]
    if strange:
        said = f"--{strange[0]}" if strange[0] else options[""][0]
        reasons.append(f"{said} is not taken")
    output = options.get("output") if is_own else f"{options.get('output_dir')}/train.parquet"
    try:
        rows = int(options.get("rows" if is_own else "num_rows", "64"))
        first = options.get("first_seed") if is_own else ("0" if "seed" in options else None)
        seed = None if first is None else int(first)
    except ValueError:
        reasons = reasons or ["its numbers are no whole numbers"]
        rows, seed = 0, None
    if reasons or not output:
        reason = reasons[0] if reasons else "it names no output"
        found.miss(command.line, command.text, reason)
        return
    made = (command.line, command.text, options.get("env_id", "maze_2d/easy"), rows, seed, output)
    found.job.setdefault("made", []).append(made)


def _own_program(name: str, arguments: list[Argument], found: Found, command: Command) -> None:
    options = dict(named_options(arguments, ("--once",)))
    if name == "copy_to_s3.py":
        found.job["job.s3_copy"] = options.get("--to", "")
    else:
        found.job["job.working_dir"] = options.get("--source", "")
        excluded = [v for k, v in named_options(arguments) if k == "--exclude"]
        if excluded:
            found.job["job.excludes"] = excluded


def _runtime_env(text: str, found: Found, command: Command) -> None:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        found.miss(command.line, text, "--runtime-env-json is no JSON object")
        return
    for key, value in given.items():
        if key == "env_vars" and isinstance(value, dict):
            for name, each in value.items():
                set_variable(name, str(each), found, command.line)
        elif key == "working_dir" and isinstance(value, str):
            _working_dir(value, found, command)
        else:
            found.miss(command.line, f"{key}: {value}", f"{key} of a runtime env is not taken")


def _is_ours(name: str, value: str) -> bool:
    """Whether the submit command that goes with a job's files sets the variable by itself."""
    return name.startswith("SKYDECK_") or OF_EACH_PACKAGE.get(name) == value


def _working_dir(value: str, found: Found, command: Command) -> None:
    if value.startswith("s3://"):
        found.job["job.working_dir"] = value
    elif value.startswith(("http", "gcs:", "gs:", "hdfs:")):
        found.miss(command.line, value, "code comes from a git commit, S3 or an upload")
    else:
        found.note(command.line, f"--working-dir {value}", "the job package is its own folder")
