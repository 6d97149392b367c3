"""JSON API of experiments and their config versions."""

from typing import Annotated

from fastapi import Path, Query, Response
from sqlalchemy.ext.asyncio import AsyncSession

from app.api.deps import (
    DEFAULT_LIMIT,
    Cursor,
    ExperimentReader,
    ExperimentWriter,
    IdCursor,
    Limit,
    Reader,
    Reading,
    Writer,
    Writing,
)
from app.api.idempotency import Idempotent
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.experiments import service
from app.experiments.schemas import (
    ExperimentAnswer,
    ExperimentBody,
    ExperimentChange,
    ForkBody,
    VersionAnswer,
    VersionBody,
    VersionDiffAnswer,
)
from app.models import Config, Experiment
from app.projects import service as projects
from app.recipes.schemas import ChangeAnswer
from app.routing import Router

router = Router(tags=["experiments"], route_class=JsonRoute)
_Number = Annotated[int, Path(ge=1, lt=2**31, description="Number of a version, from 1")]
_NumberAsked = Annotated[int, Query(ge=1, lt=2**31)]
_Words = Annotated[str, Query(max_length=200)]


@router.post("/experiments", status_code=201)
async def create_experiment(
    body: ExperimentBody, caller: Writer, session: Writing, once: Idempotent
) -> ExperimentAnswer:
    """Makes an experiment with version 1 of its config: the recipe's defaults under `config`."""
    project = await projects.choose(session, caller, body.project)

    async def make() -> ExperimentAnswer:
        experiment = await service.create(
            session,
            project=project,
            name=body.name,
            recipe=body.recipe,
            config=body.config,
            actor=caller.actor,
            hypothesis=body.hypothesis,
            tags=body.tags,
            yaml=body.yaml,
        )
        return await _answer(session, experiment)

    return await once.create(session, caller, make, answer=ExperimentAnswer)


@router.get("/experiments")
async def list_experiments(
    caller: Reader,
    session: Reading,
    project: Annotated[str | None, Query(description="Only experiments of this project")] = None,
    q: Annotated[_Words, Query(description="Words in name, id or hypothesis")] = "",
    tag: Annotated[_Words, Query(description="Only experiments with this tag")] = "",
    archived: Annotated[bool, Query(description="The archived ones instead of the others")] = False,
    limit: Limit = DEFAULT_LIMIT,
    cursor: IdCursor = None,
) -> Listing[ExperimentAnswer]:
    """Those of your projects, newest first."""
    shown = await projects.narrow(session, caller, project)
    page = await service.list_page(
        session,
        projects=shown,
        limit=limit,
        cursor=cursor,
        text=q,
        tag=tag,
        is_archived=archived,
    )
    configs = await service.newest_configs(session, page.items)
    items = [ExperimentAnswer.of(row, configs.get(row.id)) for row in page.items]
    return Listing(items=items, next_cursor=page.next_cursor)


@router.get("/experiments/{experiment_id}")
async def get_experiment(
    experiment_id: str, _caller: ExperimentReader, session: Reading
) -> ExperimentAnswer:
    return await _answer(session, await service.get(session, experiment_id))


@router.patch("/experiments/{experiment_id}")
async def change_experiment(
    experiment_id: str, body: ExperimentChange, caller: ExperimentWriter, session: Writing
) -> ExperimentAnswer:
    """Changes name, hypothesis or tags. 409 if `revision` is not the present one."""
    experiment = await service.get(session, experiment_id)
    edit = service.Edit(**body.model_dump())
    return await _answer(
        session, await service.change(session, experiment, edit, actor=caller.actor)
    )


@router.post("/experiments/{experiment_id}/fork", status_code=201)
async def fork_experiment(
    experiment_id: str, body: ForkBody, caller: ExperimentWriter, session: Writing, once: Idempotent
) -> ExperimentAnswer:
    """Makes an experiment that begins with a version of this one."""
    source = await service.get(session, experiment_id)
    project = await projects.choose(session, caller, body.project or source.project.slug)

    async def make() -> ExperimentAnswer:
        made = await service.fork(
            session,
            source,
            project=project,
            actor=caller.actor,
            version=body.version,
            name=body.name,
        )
        return await _answer(session, made)

    return await once.create(session, caller, make, answer=ExperimentAnswer)


@router.post("/experiments/{experiment_id}/archive")
async def archive_experiment(
    experiment_id: str, caller: ExperimentWriter, session: Writing
) -> ExperimentAnswer:
    """Takes it off the lists: no new versions and runs. `/restore` brings it back."""
    experiment = await service.get(session, experiment_id)
    return await _answer(session, await service.archive(session, experiment, actor=caller.actor))


@router.post("/experiments/{experiment_id}/restore")
async def restore_experiment(
    experiment_id: str, caller: ExperimentWriter, session: Writing
) -> ExperimentAnswer:
    experiment = await service.get(session, experiment_id)
    return await _answer(session, await service.restore(session, experiment, actor=caller.actor))


@router.post(
    "/experiments/{experiment_id}/versions",
    status_code=201,
    responses={200: {"model": VersionAnswer, "description": "The newest version is that already"}},
)
async def create_version(
    experiment_id: str,
    body: VersionBody,
    caller: ExperimentWriter,
    session: Writing,
    once: Idempotent,
    response: Response,
) -> VersionAnswer:
    """Makes the next version; 200 and the newest one where that has the same digest already.

    A `yaml` other than the newest version's makes the next one all the same: comments are kept.
    """

    async def make() -> VersionAnswer:
        experiment = await service.get(session, experiment_id)
        config, is_new = await service.add_version(
            session,
            experiment,
            body.config,
            actor=caller.actor,
            recipe=body.recipe,
            after=body.after,
            yaml=body.yaml,
        )
        response.status_code = 201 if is_new else 200
        return await _version(session, experiment, config)

    return await once.create(session, caller, make, answer=VersionAnswer)


@router.get("/experiments/{experiment_id}/versions")
async def list_versions(
    experiment_id: str,
    _caller: ExperimentReader,
    session: Reading,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Listing[VersionAnswer]:
    """Newest first, each with what it changed."""
    experiment = await service.get(session, experiment_id)
    page = await service.list_versions(session, experiment, limit=limit, cursor=cursor)
    items = [VersionAnswer.of(experiment, config, changes) for config, changes in page.items]
    return Listing(items=items, next_cursor=page.next_cursor)


@router.get("/experiments/{experiment_id}/versions/{version}")
async def get_version(
    experiment_id: str, version: _Number, _caller: ExperimentReader, session: Reading
) -> VersionAnswer:
    experiment = await service.get(session, experiment_id)
    return await _version(
        session, experiment, await service.get_version(session, experiment, version)
    )


@router.get("/experiments/{experiment_id}/diff")
async def diff_versions(
    experiment_id: str,
    _caller: ExperimentReader,
    session: Reading,
    before: Annotated[_NumberAsked, Query(alias="from")],
    after: Annotated[_NumberAsked, Query(alias="to")],
) -> VersionDiffAnswer:
    """Where two versions differ."""
    experiment = await service.get(session, experiment_id)
    _, _, changes = await service.compare(session, experiment, before, after)
    items = [ChangeAnswer.model_validate(each) for each in changes]
    return VersionDiffAnswer(before=before, after=after, items=items)


async def _answer(session: AsyncSession, experiment: Experiment) -> ExperimentAnswer:
    return ExperimentAnswer.of(experiment, await service.newest_config(session, experiment))


async def _version(session: AsyncSession, experiment: Experiment, config: Config) -> VersionAnswer:
    changes = await service.changes_of(session, experiment, config)
    yaml = await service.find_yaml(session, config)
    return VersionAnswer.of(experiment, config, changes, yaml)
