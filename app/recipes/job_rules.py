"""What `job.` keys may hold, each rule with its id. Pure functions over full values."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from app.logs.parsers.patterns import MAX_PATTERNS, BadPattern, compile_pattern
from app.recipes.common import secret_names
from app.recipes.model import RUN_ID, Finding
from app.recipes.sources import BadSource, parse_source
from app.recipes.variables import name_problem

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_REVISION = re.compile(r"[A-Za-z0-9][\w./-]*", re.ASCII)
_FOLDER = re.compile(r"[\w.-]+(/[\w.-]+)*/?", re.ASCII)
_S3 = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/\S*)?")
_LONGEST = 20_000
_MOST_ENTRIES = 200
_MOST_CHARACTERS = 100_000
_PATHS = ("trainer.ckpt_path", "trainer.export_path", "trainer.policy.model.lora.lora_sync_path")


def environment(values: Mapping[str, Any]) -> Iterator[Finding]:
    """Names that a shell takes and that are a config's to give, with texts as values."""
    key = "job.environment"
    secrets = secret_names(values)
    for name, value in values[key].items():
        problem = name_problem(name)
        if problem:
            yield _found("variable_name", key, problem)
        elif name in secrets:
            yield _found("variable_name", key, f"{name} is given by the secret of that name")
        elif not isinstance(value, str) or not _is_text(value):
            message = f"The variable {name} must be a text of at most {_LONGEST:,} characters"
            fix = f'"{value}"' if isinstance(value, bool | int | float) else None
            yield _found("variable_value", key, message, fix and f"write {fix.lower()} in quotes")
    pairs = [f"{name}={value}" for name, value in values[key].items()]
    yield from _amount(key, "Environment variables", pairs)


def texts(values: Mapping[str, Any]) -> Iterator[Finding]:
    """Lists of commands, patterns and files hold texts, and none that is empty."""
    for key in (
        "job.setup_commands",
        "job.excludes",
        "job.metric_patterns",
        "data.train_data",
        "data.val_data",
    ):
        for place, text in enumerate(values.get(key, ()), start=1):
            if not isinstance(text, str) or not text.strip() or not _is_text(text):
                message = (
                    f"Entry {place} of {key} must be a text of at most {_LONGEST:,} characters"
                )
                yield _found("list_of_texts", key, message)
    for key, label in (("job.setup_commands", "Set-up commands"), ("job.excludes", "Excludes")):
        yield from _amount(key, label, values[key])


def patterns(values: Mapping[str, Any]) -> Iterator[Finding]:
    """Metric patterns can be used, each as the worker uses it, and one of them finds a metric."""
    key, rule = "job.metric_patterns", "metric_pattern"
    given = values.get(key, ())
    texts = [text for text in given if isinstance(text, str) and text.strip()]
    if len(given) > MAX_PATTERNS:
        message = f"There are {len(given)} metric patterns, and at most {MAX_PATTERNS} are taken"
        yield _found(rule, key, message, r"take one for all, as in (?P<key>\w+)=(?P<value>\S+)")
        return
    compiled = []
    for text in texts:
        try:
            compiled.append(compile_pattern(text))
        except BadPattern as error:
            yield _found(rule, key, error.message, error.fix)
    if compiled and not any(pattern.finds_metrics for pattern in compiled):
        message = "The metric patterns find steps, and no metric"
        yield _found(rule, key, message, "name one, as in loss: (?P<loss>[0-9.]+)")


def command(values: Mapping[str, Any]) -> Iterator[Finding]:
    if not values["job.entrypoint"].strip():
        yield _found("no_command", "job.entrypoint", "There is no command to run")


def code(values: Mapping[str, Any]) -> Iterator[Finding]:
    """Your code is named by what cannot change, and without a password."""
    try:
        parse_source(values["job.working_dir"])
    except BadSource as error:
        yield _found("code", "job.working_dir", error.message, error.fix)


def model(values: Mapping[str, Any]) -> Iterator[Finding]:
    """What is downloaded, and where to."""
    repo = values["job.base_model_repo"]
    if not repo:
        return
    path = values["trainer.policy.model.path"]
    if not _REPOSITORY.fullmatch(repo):
        message = f"{repo} is no repository: it must look like owner/name"
        yield _found("model_repository", "job.base_model_repo", message)
    if not _REVISION.fullmatch(values["job.base_model_revision"]):
        message = "The revision must be a branch, a tag or a commit"
        yield _found("model_revision", "job.base_model_revision", message, "take main")
    folder = values["job.base_model_folder"]
    if folder and (not _FOLDER.fullmatch(folder) or ".." in folder.split("/")):
        message = f"{folder} is no folder of a repository"
        yield _found("model_folder", "job.base_model_folder", message)
    if not path.startswith("/") or path.rstrip("/") == "":
        message = f"{repo} is downloaded to {path}, which is no absolute path"
        fix = f"take /shared/models/{repo.rpartition('/')[2]}, or empty job.base_model_repo"
        yield _found("model_path", "trainer.policy.model.path", message, fix)


def data(values: Mapping[str, Any]) -> Iterator[Finding]:
    """Where the job writes its rows, and that they leave out the eval seeds."""
    if not values["job.make_data"]:
        return
    train, evaluation = values["data.train_data"], values["data.val_data"]
    for key in ("data.train_data", "data.val_data"):
        first = values[key][0] if values[key] else ""
        if not isinstance(first, str) or not first.startswith("/"):
            message = f"The job writes to the first file of {key}, which must be an absolute path"
            yield _found("data_path", key, message, "take /shared/runs/{run_id}/data/….parquet")
    if train and evaluation and train[0] == evaluation[0]:
        message = "Training and evaluation rows would be written to the same file"
        yield Finding(
            rule="data_path", fields=("data.train_data", "data.val_data"), message=message
        )
    first_seed, rows = values["job.train_seed_offset"], values["job.eval_rows"]
    if first_seed is not None and first_seed < rows:
        yield Finding(
            rule="seeds_overlap",
            fields=("job.train_seed_offset", "job.eval_rows"),
            message=f"Training seeds from {first_seed} on hold seeds of the {rows} eval mazes",
            fix=f"take {rows} or more",
            fix_values={"job.train_seed_offset": max(1000, rows)},
        )


def places(values: Mapping[str, Any]) -> Iterator[Finding]:
    """Paths that the script enters or copies."""
    if not values["job.skyrl_dir"].startswith("/"):
        message = "SkyRL's folder must be an absolute path"
        yield _found("skyrl_dir", "job.skyrl_dir", message, "take /home/ray/skyrl")
    target = values["job.s3_copy"]
    if target and not _S3.fullmatch(target):
        message = f"{target} is no place on S3: it must look like s3://bucket/folder"
        yield _found("s3_copy", "job.s3_copy", message)
    if target and RUN_ID not in target:
        message = "Runs that copy to the same folder of S3 overwrite each other's checkpoints"
        fix = f"take {target.rstrip('/')}/{RUN_ID}"
        fixed = {"job.s3_copy": f"{target.rstrip('/')}/{RUN_ID}"}
        yield Finding(
            rule="s3_copy", fields=("job.s3_copy",), message=message, fix=fix, fix_values=fixed
        )
    for key in _PATHS if target else ():
        if str(values[key]).startswith("s3://") and key != _PATHS[2]:
            message = f"{key} is on S3 already: there is nothing to copy there"
            yield _found("s3_copy", key, message, "take a folder on shared storage")


def _found(rule: str, key: str, message: str, fix: str | None = None) -> Finding:
    return Finding(rule=rule, fields=(key,), message=message, fix=fix)


def _amount(key: str, label: str, texts: list[Any]) -> Iterator[Finding]:
    """All of them go into one script, and into the environment of one process."""
    characters = sum(len(text) for text in texts if isinstance(text, str))
    if len(texts) > _MOST_ENTRIES or characters > _MOST_CHARACTERS:
        message = f"{label}: at most {_MOST_ENTRIES}, with {_MOST_CHARACTERS:,} characters in all"
        yield _found("amount", key, message, "put them into a script in your code")


def _is_text(text: str) -> bool:
    is_encodable = not any("\ud800" <= sign <= "\udfff" for sign in text)
    return is_encodable and "\0" not in text and len(text) <= _LONGEST


SKYRL_RULES = (environment, texts, code, model, data, places)
COMMAND_RULES = (command, environment, texts, patterns, code)
