"""JSON API that takes in whole runs at once: of other trackers, and of what was logged offline."""

import asyncio
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import AwareDatetime, Field, ValidationError

from app.api.bodies import read_body
from app.api.deps import Writer, Writing
from app.api.idempotency import Idempotent
from app.api.schemas import Answer, Body, ConfigValues, Line, Listing
from app.clock import utcnow
from app.errors import Invalid, Problem
from app.metrics.push import MAX_POINTS, load_object, read_object
from app.models import RunStatus
from app.projects import service as projects
from app.routing import Router
from app.runs.importing import ImportedRun, import_runs
from app.runs.schemas import Tags

router = Router(tags=["runs"])

SENT_BYTES = 4_000_000
UNPACKED_BYTES = 16_000_000
MAX_RUNS = 100


class ImportedRunBody(Body):
    """`metrics` are as in a push: columns with their `step`, or `{"points": [...]}`."""

    name: Line = Field(examples=["seed 3"])
    experiment: Line | None = Field(default=None, description="By name; made if missing")
    config: ConfigValues = Field(default_factory=dict, examples=[{"lr": 3e-6}])
    tags: Tags = Field(default_factory=list)
    status: RunStatus | None = Field(
        default=None, description="How it ended; left out, it goes on", examples=["succeeded"]
    )
    started_at: AwareDatetime | None = None
    ended_at: AwareDatetime | None = None
    metrics: dict[str, Any] = Field(
        default_factory=dict, examples=[{"step": [1, 2], "loss": [0.7, 0.6]}]
    )


class ImportBody(Body):
    project: Line | None = Field(default=None, examples=["default"])
    runs: list[ImportedRunBody] = Field(min_length=1, max_length=MAX_RUNS)


class ImportedRunAnswer(Answer):
    id: str = Field(examples=["run-7fk2m9qd"])
    name: str = Field(examples=["seed 3"])


@router.post(
    "/runs/import",
    status_code=201,
    max_body_size=SENT_BYTES,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": ImportBody.model_json_schema(
                        ref_template="#/components/schemas/{model}"
                    )
                }
            },
        }
    },
)
async def import_whole_runs(
    request: Request, caller: Writer, session: Writing, once: Idempotent
) -> Listing[ImportedRunAnswer]:
    """Makes runs with config, points and end, all of the body or none. Takes gzip."""
    body = await read_body(request, max_bytes=UNPACKED_BYTES)
    # In a thread: reading a large body would hold up all other requests.
    slug, given = await asyncio.to_thread(_read, body, utcnow().timestamp())
    project = await projects.choose(session, caller, slug)

    async def make() -> Listing[ImportedRunAnswer]:
        made = await import_runs(session, project, given, actor=caller.actor)
        return Listing(items=[ImportedRunAnswer(id=run.slug, name=run.name) for run in made])

    return await once.create(session, caller, make, answer=Listing[ImportedRunAnswer])


def _read(body: bytes, received_at: float) -> tuple[str | None, list[ImportedRun]]:
    """The project's slug and the runs. Raises `Invalid` or as FastAPI does for a body."""
    try:
        read = ImportBody.model_validate(load_object(body))
    except ValidationError as error:
        found = [{**each, "loc": ("body", *each["loc"])} for each in error.errors()]
        raise RequestValidationError(found) from None
    given = [_run(each, f"runs.{place}", received_at) for place, each in enumerate(read.runs)]
    if sum(len(points) for each in given for points in each.columns.values()) > MAX_POINTS:
        message = f"at most {MAX_POINTS:,} points a call; send the runs in parts"
        raise Invalid(message, [Problem("body", "too_many", message)])
    return read.project, given


def _run(read: ImportedRunBody, place: str, received_at: float) -> ImportedRun:
    where, columns = f"{place}.metrics", {}
    if read.metrics:
        columns = read_object(read.metrics, received_at=received_at, place=where)
    return ImportedRun(
        name=read.name,
        experiment=read.experiment,
        config=read.config,
        tags=read.tags,
        status=read.status,
        started_at=read.started_at,
        ended_at=read.ended_at,
        columns=columns,
    )
