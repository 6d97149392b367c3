"""The models that people may choose, by endpoint."""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from app.endpoints import service as endpoints
from app.models import Endpoint, EndpointStatus


@dataclass(frozen=True, slots=True)
class ModelOption:
    """A model to choose. `value` names endpoint and model."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class ModelGroup:
    """The models of an endpoint."""

    title: str
    options: list[ModelOption]


async def model_groups(session: AsyncSession) -> list[ModelGroup]:
    """Endpoints without a known model are left out."""
    groups = [_group(endpoint) for endpoint in await endpoints.list_all(session)]
    return [group for group in groups if group.options]


def _group(endpoint: Endpoint) -> ModelGroup:
    is_ready = endpoint.status is EndpointStatus.READY
    return ModelGroup(
        title=endpoint.name if is_ready else f"{endpoint.name} ({endpoint.status})",
        options=[
            ModelOption(f"{endpoint.slug} {model['id']}", str(model["id"]))
            for model in endpoint.models
        ],
    )
