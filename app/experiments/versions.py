"""Config versions of experiments: each frozen, with a digest; what differs between two."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.clock import utcnow
from app.errors import Conflict, Invalid, NotFound, Problem
from app.experiments import repository
from app.experiments.digest import digest
from app.ids import new_id
from app.models import Config, Experiment
from app.paging import Page, decode_cursor, page_of
from app.recipes import service as recipes
from app.recipes.diff import Change, changes
from app.secrets import service as secrets

LARGEST_VERSION = 2**31 - 1
YAML = "yaml"


async def newest_config(session: AsyncSession, experiment: Experiment) -> Config | None:
    """The highest config version; None for an experiment of external runs only."""
    return (await repository.newest_configs(session, [experiment.id])).get(experiment.id)


async def newest_configs(
    session: AsyncSession, experiments: Sequence[Experiment]
) -> dict[UUID, Config]:
    """The highest config version by experiment id, in one query."""
    return await repository.newest_configs(session, [row.id for row in experiments])


async def get_version(
    session: AsyncSession, experiment: Experiment, version: int | None = None
) -> Config:
    """That version, or the newest one. Raises `NotFound`."""
    if version is None:
        found = await newest_config(session, experiment)
    else:
        found = (await repository.find_versions(session, experiment.id, [version])).get(version)
    if found is None:
        which = "no config version" if version is None else f"no version {version}"
        raise NotFound(f"experiment {experiment.slug} has {which}")
    return found


async def list_versions(
    session: AsyncSession, experiment: Experiment, *, limit: int = 50, cursor: str | None = None
) -> Page[tuple[Config, list[Change]]]:
    """Newest first, each with what it changed of the version before it: nothing for the first."""
    before = _version_of(cursor) if cursor else LARGEST_VERSION
    # One more for the cursor, and the one that the last row is compared with.
    rows = await repository.list_versions(session, experiment.id, before=before, limit=limit + 1)
    compared = [
        (config, changes(earlier.values, config.values) if earlier else [])
        for config, earlier in zip(rows, [*rows[1:], None], strict=True)
    ]
    return page_of(compared, limit, lambda row: [row[0].version])


async def compare(
    session: AsyncSession, experiment: Experiment, before: int, after: int
) -> tuple[Config, Config, list[Change]]:
    """Two versions and where they differ. Raises `NotFound`."""
    found = await repository.find_versions(session, experiment.id, [before, after])
    for version in (before, after):
        if version not in found:
            raise NotFound(f"experiment {experiment.slug} has no version {version}")
    return found[before], found[after], changes(found[before].values, found[after].values)


async def changes_of(session: AsyncSession, experiment: Experiment, config: Config) -> list[Change]:
    """What a version changed of the one before it; nothing for the first."""
    assert config.version is not None
    before = (await repository.find_versions(session, experiment.id, [config.version - 1])).values()
    return [change for earlier in before for change in changes(earlier.values, config.values)]


async def find_yaml(session: AsyncSession, config: Config) -> str | None:
    """The text that a config was typed as, with its comments; None if it was not typed as one."""
    return await repository.find_yaml(session, config.id)


async def add_version(
    session: AsyncSession,
    experiment: Experiment,
    config: Mapping[str, Any] | None,
    *,
    actor: Actor,
    recipe: str | None = None,
    after: int | None = None,
    yaml: str | None = None,
) -> tuple[Config, bool]:
    """The next version, of the recipe's defaults under `config`; False: the newest is that already.

    `recipe` is needed for the first version only; an experiment keeps its recipe. `after` is the
    version that the caller takes for the newest. `yaml` is the text that `config` was typed as, and
    says all where that is None: a text other than that of the newest version makes the next one,
    though the values and so the digest be the same. Raises `Conflict` if `after` is not the newest,
    or if the experiment is archived; `Invalid` with one problem per value, and for a text that
    means another config.
    """
    await refuse_secrets(session, [experiment.project_id], config or {}, yaml)
    await repository.lock(session, experiment)
    require_open(experiment)
    newest = await newest_config(session, experiment)
    number = newest.version if newest and newest.version else 0
    if after is not None and after != number:
        raise Conflict(
            f"version {number} of experiment {experiment.slug} was made since you looked at "
            f"version {after}: nothing was stored; compare with it, then save again"
        )
    name = _recipe_of(newest, recipe)
    config = config_or_text(name, config, yaml)
    made = make_config(
        experiment, name, recipes.resolve(name, config), version=number + 1, actor=actor, yaml=yaml
    )
    if newest is not None and await _is_same(session, newest, made):
        return newest, False
    session.add(made)
    target = Target("experiment", experiment.slug, experiment.project_id)
    details = {"version": made.version, "digest": made.digest}
    audit.record(session, actor, Action.EXPERIMENT_VERSION, target, details=details)
    await session.flush()
    return made, True


def require_open(experiment: Experiment) -> None:
    """Raises `Conflict` for an archived experiment."""
    if experiment.archived_at is not None:
        raise Conflict(
            f"experiment {experiment.slug} is archived, so it takes no new versions and no new "
            "runs: restore it first, or fork it"
        )


def make_config(
    experiment: Experiment,
    recipe: str,
    values: Mapping[str, Any],
    *,
    version: int | None,
    actor: Actor,
    base_version: int | None = None,
    yaml: str | None = None,
) -> Config:
    """A frozen config; `values` are complete and validated.

    Raises `Invalid` if `yaml` is too long, or does not mean these values.
    """
    if yaml is not None:
        _check_yaml(recipe, values, yaml)
    recipe_version = recipes.version_of(recipe)
    return Config(
        id=new_id(),
        experiment_id=experiment.id,
        version=version,
        recipe=recipe,
        recipe_version=recipe_version,
        digest=digest(recipe, recipe_version, values),
        values=dict(values),
        created_by=actor.name,
        created_at=utcnow(),
        base_version=base_version,
        yaml=yaml,
    )


def config_or_text(
    recipe: str, config: Mapping[str, Any] | None, yaml: str | None
) -> Mapping[str, Any]:
    """`config`, or where it is None what `yaml` says. Raises `Invalid` if that cannot be read."""
    if config is not None:
        return config
    return {} if yaml is None else _read_yaml(recipe, yaml).values


async def refuse_secrets(
    session: AsyncSession, projects: Sequence[UUID], config: Mapping[str, Any], yaml: str | None
) -> None:
    """Raises `Invalid` where a value or the text holds the value of a secret."""
    texts = {**config} if yaml is None else {**config, YAML: yaml}
    await secrets.refuse_values(session, projects, texts)


async def _is_same(session: AsyncSession, newest: Config, made: Config) -> bool:
    if newest.digest != made.digest:
        return False
    return made.yaml is None or made.yaml == await find_yaml(session, newest)


def _check_yaml(recipe: str, values: Mapping[str, Any], yaml: str) -> None:
    meant = _read_yaml(recipe, yaml)
    version = recipes.version_of(recipe)
    is_same = digest(recipe, version, recipes.resolve(recipe, meant.values)) == digest(
        recipe, version, values
    )
    if not is_same or meant.recipe not in (None, recipe):
        message = "the YAML text means another config than the values beside it: send one of them"
        raise Invalid(message, [_yaml_problem(message)])


def _read_yaml(recipe: str, yaml: str) -> recipes.Document:
    try:
        return recipes.read_document(recipes.get(recipe), yaml)
    except recipes.UnreadableError as error:
        message = f"the YAML text cannot be read: {error}"
        raise Invalid(message, [_yaml_problem(message)]) from None


def _yaml_problem(message: str) -> Problem:
    return Problem(YAML, "yaml", message)


def _recipe_of(newest: Config | None, asked: str | None) -> str:
    if newest is None and asked is None:
        message = "this experiment has no version yet: name the recipe of the first"
        raise Invalid(message, [Problem("recipe", "required", message)])
    if newest is not None and asked not in (None, newest.recipe):
        message = f"this experiment is of recipe {newest.recipe}: make a new one for {asked}"
        raise Invalid(message, [Problem("recipe", "other_recipe", message)])
    name = asked if newest is None else newest.recipe
    assert name is not None
    return name


def _version_of(cursor: str) -> int:
    (version,) = decode_cursor(cursor, 1)
    if isinstance(version, int) and 0 < version <= LARGEST_VERSION:
        return version
    message = "this cursor was not made by this list: start again without one"
    raise Invalid(message, [Problem("cursor", "cursor", message)])
