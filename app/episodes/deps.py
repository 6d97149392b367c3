"""What routes of several features ask for: where the models are that episodes name."""

from typing import Annotated

from fastapi import Depends

from app.api.deps import Config, Store
from app.episodes.endpoint_models import EndpointModels
from app.episodes.seats import ModelSource


def get_models(store: Store, settings: Config) -> ModelSource:
    return EndpointModels(store, settings)


Models = Annotated[ModelSource, Depends(get_models)]
