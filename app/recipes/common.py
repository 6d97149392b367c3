"""What every recipe's form has, whatever trainer it starts. Pure data and functions."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from app.recipes.model import Field, Finding, Group, Recipe

SECRETS = "job.secrets"
"""Names of the project's secrets that a job finds in its environment. Values are in no config."""

_GROUP = "Job"
_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_SECRETS_FIELD = Field(
    key=SECRETS,
    label="Secrets",
    default="",
    help="Names of the project's secrets that the job needs in its environment, by commas.",
)


def with_common(recipe: Recipe) -> Recipe:
    """The recipe with the fields that all have, at the end of its group of the job."""
    if SECRETS in recipe.fields():
        return recipe
    groups = list(recipe.groups)
    places = [at for at, group in enumerate(groups) if group.title == _GROUP]
    if places:
        group = groups[places[0]]
        groups[places[0]] = replace(group, fields=(*group.fields, _SECRETS_FIELD))
    else:
        groups.append(Group(_GROUP, (_SECRETS_FIELD,)))
    rules = (*recipe.error_rules, _named_rightly)
    return replace(recipe, groups=tuple(groups), error_rules=rules)


def secret_names(values: Mapping[str, Any]) -> list[str]:
    """The secrets that a config names, each once, in order."""
    text = values.get(SECRETS) or ""
    return sorted({name for name in re.split(r"[,\s]+", str(text)) if name})


def normal(values: dict[str, Any]) -> dict[str, Any]:
    """The same config in one spelling, so that it has one digest."""
    if SECRETS in values:
        values[SECRETS] = ", ".join(secret_names(values))
    return values


def _named_rightly(values: Mapping[str, Any]) -> Iterator[Finding]:
    wrong = [name for name in secret_names(values) if not _NAME.fullmatch(name)]
    if wrong:
        yield Finding(
            rule="secret_name",
            fields=(SECRETS,),
            # What stands here may be a value that was put into the wrong field.
            message="Secrets must be names, such as HF_TOKEN, separated by commas",
            fix="set the value under the project's secrets and give its name here",
        )
