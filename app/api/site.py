"""The JSON API of all features, and how it is put onto the application."""

from typing import Any

from fastapi import Depends, FastAPI
from pydantic.json_schema import models_json_schema

from app.access.limits import RequestLimit
from app.adapters import api as adapters
from app.api import errors, health
from app.api.plain_text import PlainAddresses
from app.api.schemas import ProblemAnswer
from app.audit import api as audit
from app.checkpoints import api as checkpoints
from app.clusters import api as clusters
from app.code import api as code
from app.compare import api as compare
from app.endpoints import api as endpoints
from app.episodes import api as episodes
from app.episodes import rollout_api
from app.evaluations import api as evaluations
from app.experiments import api as experiments
from app.logs import api as logs
from app.metrics import api as metrics
from app.observability.requests import RequestLog
from app.outgoing import api as outgoing
from app.projects import api as projects
from app.recipes import api as recipes
from app.runs import api as runs
from app.runs import import_api
from app.secrets import api as secrets
from app.sharing import api as sharing
from app.sweeps import api as sweeps
from app.tracking import api as tracking
from app.users import api as users

PREFIX = "/api/v1"
_REFERENCE = "#/components/schemas/{model}"
BODY_BYTES = 1_000_000
FEATURES = (
    projects,
    recipes,
    code,
    experiments,
    runs,
    import_api,
    sweeps,
    metrics,
    compare,
    logs,
    evaluations,
    episodes,
    rollout_api,
    checkpoints,
    adapters,
    clusters,
    endpoints,
    secrets,
    users,
    outgoing,
    audit,
    sharing,
)
_PROBLEMS = {
    401: "No valid token",
    403: "The token's scope is too small",
    404: "There is no such thing",
    409: "The thing is not in a state that allows this",
    422: "A value cannot be accepted",
    429: "Too many requests in a minute; `Retry-After` says in how many seconds to go on",
}


def install(app: FastAPI) -> None:
    """Adds all API routes, the health checks, their errors, and the request log."""
    errors.install(app)
    health.router.put_on(app)
    for feature in FEATURES:
        feature.router.put_on(
            app,
            prefix=PREFIX,
            responses=_responses(),
            dependencies=[Depends(RequestLimit("api"))],
            max_body_size=BODY_BYTES,
        )
    tracking.router.put_on(app, prefix=tracking.PREFIX, dependencies=[Depends(RequestLimit("api"))])
    app.add_middleware(PlainAddresses)
    app.add_middleware(RequestLog)
    _describe_problems(app)


def _responses() -> dict[int | str, dict[str, Any]]:
    problem = {"schema": {"$ref": _REFERENCE.format(model=ProblemAnswer.__name__)}}
    return {
        status: {"description": text, "content": {errors.MEDIA_TYPE: problem}}
        for status, text in _PROBLEMS.items()
    }


def _describe_problems(app: FastAPI) -> None:
    """Adds the shape of a problem to the API's description.

    Named as each route's model it would be built for each route and each status anew.
    """
    describe = app.openapi

    def described() -> dict[str, Any]:
        found = describe()
        _, shapes = models_json_schema([(ProblemAnswer, "serialization")], ref_template=_REFERENCE)
        found["components"]["schemas"].update(shapes["$defs"])
        return found

    app.openapi = described  # type: ignore[method-assign]
