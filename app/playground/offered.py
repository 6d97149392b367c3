"""The models that may play in a lane, by endpoint."""

from sqlalchemy.ext.asyncio import AsyncSession

from app.endpoints import service as endpoints
from app.models import Endpoint
from app.models.endpoint import EndpointStatus
from app.playground.contexts import ModelGroup, ModelOption


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
