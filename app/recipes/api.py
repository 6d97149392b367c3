"""JSON API of recipes, and of configs before they are launched."""

import asyncio
from uuid import UUID

from app.access.permissions import Permission
from app.access.principal import Principal
from app.api.deps import Reader, Reading
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.clusters import service as clusters
from app.errors import Problem
from app.models import Cluster, ClusterKind
from app.recipes import service
from app.recipes.model import Finding, Findings
from app.recipes.schemas import (
    ChangeAnswer,
    ConfigBody,
    DiffAnswer,
    DiffBody,
    ImportAnswer,
    ImportBody,
    RecipeAnswer,
    RenderAnswer,
    ValidationAnswer,
)
from app.routing import Router
from app.runs.path_users import list_path_users
from app.secrets import service as secrets

router = Router(tags=["recipes and configs"], route_class=JsonRoute)


@router.get("/recipes")
async def list_recipes(_caller: Reader) -> Listing[RecipeAnswer]:
    """All recipes with the fields of their forms."""
    return Listing(items=[RecipeAnswer.of(recipe) for recipe in service.list_all()])


@router.get("/recipes/{name}")
async def get_recipe(name: str, _caller: Reader) -> RecipeAnswer:
    return RecipeAnswer.of(service.get(name))


@router.post("/configs/validate")
async def validate_config(body: ConfigBody, caller: Reader, session: Reading) -> ValidationAnswer:
    """Everything that would stop a launch, and what is worth a second look. Changes nothing."""
    held = await secrets.find_values(session, _readable(caller), body.config)
    recipe = service.get(body.recipe)
    cluster = None if body.cluster is None else await clusters.get(session, body.cluster)
    if held:
        # Said alone: messages about wrong values may quote them.
        return ValidationAnswer.of(Findings(errors=tuple(map(_finding, held))))
    if cluster is None:
        return ValidationAnswer.of(service.validate(recipe, body.config))
    is_embedded = cluster.kind is ClusterKind.EMBEDDED
    place = service.Place(
        cluster=None if is_embedded else _resources(cluster),
        is_embedded=is_embedded,
        other_runs=await list_path_users(
            session, recipe, body.config, cluster, projects=caller.projects(Permission.READ)
        ),
    )
    return ValidationAnswer.of(service.examine(recipe, body.config, place).findings)


@router.post("/configs/render")
async def render_config(body: ConfigBody, caller: Reader, session: Reading) -> RenderAnswer:
    """The exact files that a run of this config submits. The same config, the same bytes."""
    await secrets.refuse_values(session, _readable(caller), body.config)
    values = service.resolve(body.recipe, body.config)
    return RenderAnswer.model_validate(service.render(service.get(body.recipe), values))


@router.post("/configs/import")
async def import_config(body: ImportBody, _caller: Reader) -> ImportAnswer:
    """A config from a script, a command, overrides or a dump. Nothing of the text is executed."""
    # A long text takes a tenth of a second, in which others want answers.
    return ImportAnswer.model_validate(await asyncio.to_thread(service.import_text, body.text))


@router.post("/configs/diff")
async def diff_configs(body: DiffBody, _caller: Reader) -> DiffAnswer:
    """Where a config differs from its recipe, or from another config."""
    recipe = service.get(body.recipe)
    given = (recipe, body.config)
    if body.other is None:
        found = service.diff((recipe, {}), given)
    else:
        found = service.diff(given, (service.get(body.other.recipe), body.other.config))
    return DiffAnswer(items=[ChangeAnswer.model_validate(each) for each in found])


def _resources(cluster: Cluster) -> service.ClusterResources | None:
    """GPUs by node as last observed; None while none were."""
    gpus = clusters.gpus_by_node(cluster)
    if not gpus:
        return None
    return service.ClusterResources(
        name=cluster.name, gpus_by_node=gpus, reaches_us=clusters.has_way_back(cluster)
    )


def _finding(problem: Problem) -> Finding:
    return Finding(
        rule=problem.rule, fields=(problem.field,), message=problem.message, fix=secrets.NAME_IT
    )


def _readable(caller: Principal) -> list[UUID] | None:
    found = caller.projects(Permission.READ)
    return None if found is None else list(found)
