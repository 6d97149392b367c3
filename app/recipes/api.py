"""JSON API of recipes, and of configs before they are launched."""

from uuid import UUID

from fastapi import APIRouter

from app.access.permissions import Permission
from app.access.principal import Principal
from app.api.deps import Reader, Reading
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.clusters import service as clusters
from app.errors import Problem
from app.recipes import service
from app.recipes.model import Finding, Findings
from app.recipes.schemas import ConfigBody, RecipeAnswer, RenderAnswer, ValidationAnswer
from app.secrets import service as secrets

router = APIRouter(tags=["recipes and configs"], route_class=JsonRoute)


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
    if body.cluster is not None:
        await clusters.get(session, body.cluster)
    recipe = service.get(body.recipe)
    if held:
        # Said alone: messages about wrong values may quote them.
        return ValidationAnswer.of(Findings(errors=tuple(map(_finding, held))))
    return ValidationAnswer.of(service.validate(recipe, body.config))


@router.post("/configs/render")
async def render_config(body: ConfigBody, caller: Reader, session: Reading) -> RenderAnswer:
    """The exact files that a run of this config submits. The same config, the same bytes."""
    await secrets.refuse_values(session, _readable(caller), body.config)
    values = service.resolve(body.recipe, body.config)
    return RenderAnswer.model_validate(service.render(service.get(body.recipe), values))


def _finding(problem: Problem) -> Finding:
    return Finding(
        rule=problem.rule, fields=(problem.field,), message=problem.message, fix=secrets.NAME_IT
    )


def _readable(caller: Principal) -> list[UUID] | None:
    found = caller.projects(Permission.READ)
    return None if found is None else list(found)
