"""MLflow's tracking API, as its Python client calls it: `MLFLOW_TRACKING_URI` is our address.

The token is `MLFLOW_TRACKING_TOKEN`. Answers and errors have MLflow's form.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from app.access.permissions import Permission
from app.access.principal import Principal
from app.api.deps import ApiGuard, Reading, Writing
from app.clock import utcnow
from app.db import ReadSession
from app.errors import Conflict, Forbidden, Invalid, NotFound, NotSignedIn, Problem, SkydeckError
from app.metrics.columns import Columns
from app.metrics.push import read_points
from app.paging import MAX_LIMIT
from app.routing import Router
from app.tracking import entities, service
from app.tracking.search import filter_of, order_of
from app.tracking.service import Batch, ExperimentExists

Json = dict[str, Any]
PREFIX = "/api/2.0/mlflow"
BODY_BYTES = 4_000_000
_MOST = 10_000
_CODES = (
    (NotFound, "RESOURCE_DOES_NOT_EXIST"),
    (Invalid, "INVALID_PARAMETER_VALUE"),
    # Of two clients that make the same experiment, the slower one looks for it after this.
    (ExperimentExists, "RESOURCE_ALREADY_EXISTS"),
    (Conflict, "INVALID_STATE"),
    (NotSignedIn, "UNAUTHENTICATED"),
    (Forbidden, "PERMISSION_DENIED"),
)


class TrackingRoute(APIRoute):
    """Errors as MLflow's clients read them."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except SkydeckError as error:
                return _refusal(error)
            except (RequestValidationError, HTTPException) as error:
                status = error.status_code if isinstance(error, HTTPException) else 400
                return _problem(status, "INVALID_PARAMETER_VALUE", str(error))

        return answer


@dataclass(frozen=True, slots=True)
class TrackingGuard(ApiGuard):
    """Lets a token of one run in, too: what it may touch is decided by `app.tracking.service`."""

    async def check(self, request: Request, session: ReadSession, principal: Principal) -> None:
        if principal.only_run is None:
            # super() without arguments does not work in a dataclass with slots.
            await ApiGuard.check(self, request, session, principal)


Reader = Annotated[Principal, Depends(TrackingGuard(Permission.READ))]
Writer = Annotated[Principal, Depends(TrackingGuard(Permission.WRITE))]


async def _arguments(request: Request) -> Json:
    """Of a GET its query, of a POST its body. A name that stands twice in a query is a list."""
    if request.method == "GET":
        query = request.query_params
        return {
            name: values if len(values := query.getlist(name)) > 1 else values[0] for name in query
        }
    try:
        found = json.loads(await request.body() or b"{}")
    except (ValueError, RecursionError):
        raise _wrong("body", "this is no JSON") from None
    if not isinstance(found, dict):
        raise _wrong("body", "give an object")
    return found


Arguments = Annotated[Json, Depends(_arguments)]
router = Router(tags=["mlflow"], route_class=TrackingRoute)


@router.get("/experiments/get-by-name")
async def get_experiment_by_name(caller: Writer, session: Writing, given: Arguments) -> Json:
    name = _text(given, "experiment_name")
    found = await service.find_experiment(session, caller, name)
    is_own = caller.only_run is not None
    return {"experiment": entities.experiment(found, name=name, is_own=is_own)}


@router.get("/experiments/get")
async def get_experiment(caller: Reader, session: Reading, given: Arguments) -> Json:
    found = await service.get_experiment(session, caller, _text(given, "experiment_id"))
    return {"experiment": entities.experiment(found, is_own=caller.only_run is not None)}


@router.get("/experiments/search")
@router.post("/experiments/search")
async def search_experiments(caller: Reader, session: Reading, given: Arguments) -> Json:
    found, following = await service.list_experiments(
        session, caller, limit=_limit(given), cursor=given.get("page_token") or None
    )
    answer: Json = {"experiments": [entities.experiment(each) for each in found]}
    return answer | ({"next_page_token": following} if following else {})


@router.post("/experiments/create")
async def create_experiment(caller: Writer, session: Writing, given: Arguments) -> Json:
    made = await service.create_experiment(session, caller, _text(given, "name"))
    return {"experiment_id": made.slug}


@router.post("/experiments/set-experiment-tag")
async def set_experiment_tag(caller: Writer, session: Writing, given: Arguments) -> Json:
    """Taken and not kept: an experiment's tags here are words, not pairs."""
    await service.get_experiment(session, caller, _text(given, "experiment_id"))
    return {}


@router.post("/runs/create")
async def create_run(caller: Writer, session: Writing, given: Arguments) -> Json:
    tags = _pairs(given, "tags")
    made = await service.create_run(
        session,
        caller,
        experiment=_text(given, "experiment_id"),
        name=str(given.get("run_name") or tags.get("mlflow.runName") or ""),
        batch=Batch(tags=tags),
    )
    return {"run": made.json()}


@router.get("/runs/get")
async def get_run(caller: Reader, session: Reading, given: Arguments) -> Json:
    return {"run": (await service.get_run(session, caller, _run_id(given))).json()}


@router.post("/runs/update")
async def update_run(caller: Writer, session: Writing, given: Arguments) -> Json:
    run = await service.update_run(
        session,
        caller,
        _run_id(given),
        status=str(given.get("status") or ""),
        name=str(given.get("run_name") or ""),
    )
    return {"run_info": entities.info(run)}


@router.post("/runs/delete")
async def delete_run(caller: Writer, session: Writing, given: Arguments) -> Json:
    await service.delete_run(session, caller, _run_id(given))
    return {}


@router.post("/runs/restore")
async def restore_run(caller: Writer, session: Writing, given: Arguments) -> Json:
    await service.restore_run(session, caller, _run_id(given))
    return {}


@router.post("/runs/search")
async def search_runs(caller: Reader, session: Reading, given: Arguments) -> Json:
    if str(given.get("run_view_type") or "") == "DELETED_ONLY":
        return {"runs": []}
    found, following = await service.search_runs(
        session,
        caller,
        _texts(given, "experiment_ids"),
        filter_text=filter_of(str(given.get("filter") or "")),
        sort=order_of(_texts(given, "order_by")),
        limit=_limit(given),
        cursor=given.get("page_token") or None,
    )
    answer: Json = {"runs": [each.json() for each in found]}
    return answer | ({"next_page_token": following} if following else {})


@router.post("/runs/log-metric")
async def log_metric(caller: Writer, session: Writing, given: Arguments) -> Json:
    batch = Batch(metrics=_metrics([given]))
    await service.log(session, caller, _run_id(given), batch)
    return {}


@router.post("/runs/log-batch", max_body_size=BODY_BYTES)
async def log_batch(caller: Writer, session: Writing, given: Arguments) -> Json:
    batch = Batch(
        metrics=_metrics(given.get("metrics") or []),
        params=_pairs(given, "params"),
        tags=_pairs(given, "tags"),
    )
    await service.log(session, caller, _run_id(given), batch)
    return {}


@router.post("/runs/log-parameter")
async def log_parameter(caller: Writer, session: Writing, given: Arguments) -> Json:
    batch = Batch(params={_text(given, "key"): str(given.get("value", ""))})
    await service.log(session, caller, _run_id(given), batch)
    return {}


@router.post("/runs/set-tag")
async def set_tag(caller: Writer, session: Writing, given: Arguments) -> Json:
    batch = Batch(tags={_text(given, "key"): str(given.get("value", ""))})
    await service.log(session, caller, _run_id(given), batch)
    return {}


@router.post("/runs/delete-tag")
async def delete_tag(caller: Writer, session: Writing, given: Arguments) -> Json:
    await service.delete_tag(session, caller, _run_id(given), _text(given, "key"))
    return {}


@router.get("/metrics/get-history")
async def get_history(caller: Reader, session: Reading, given: Arguments) -> Json:
    key = _text(given, "metric_key")
    loaded = await service.history(session, caller, _run_id(given), key)
    views = await asyncio.to_thread(loaded.views, 2**31)
    start = _start(given)
    points = entities.history(key, views[0].columns) if views else []
    end = start + min(_whole(given, "max_results", _MOST), _MOST)
    following = {"next_page_token": str(end)} if end < len(points) else {}
    return {"metrics": points[start:end]} | following


def _metrics(items: Any) -> Mapping[str, Columns]:
    """MLflow's metrics: their `timestamp` is in milliseconds."""
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _wrong("metrics", "give a list of {key, value, timestamp, step}")
    points = [
        {
            "key": item.get("key"),
            "value": _special(item.get("value")),
            "step": _integer(item.get("step") or 0),
            "time": _integer(item.get("timestamp") or 0) / 1000 or None,
        }
        for item in items
    ]
    return read_points(points, received_at=utcnow().timestamp())


def _special(value: Any) -> Any:
    """Protobuf's JSON allows numbers as text."""
    if isinstance(value, str) and value not in ("NaN", "Infinity", "-Infinity"):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _integer(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise _wrong("metrics", "step and timestamp are whole numbers") from None


def _run_id(given: Json) -> str:
    return _text(given, "run_id" if given.get("run_id") else "run_uuid")


def _text(given: Json, name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value or "\0" in value:
        raise _wrong(name, "this is missing")
    return value


def _texts(given: Json, name: str) -> list[str]:
    value = given.get(name) or []
    return [value] if isinstance(value, str) else [str(each) for each in value]


def _pairs(given: Json, name: str) -> dict[str, str]:
    items = given.get(name) or []
    try:
        return {str(item["key"]): str(item.get("value", "")) for item in items}
    except (TypeError, KeyError, AttributeError):
        raise _wrong(name, "give a list of {key, value}") from None


def _limit(given: Json) -> int:
    return max(1, min(_whole(given, "max_results", MAX_LIMIT), MAX_LIMIT))


def _start(given: Json) -> int:
    return max(0, _whole(given, "page_token", 0))


def _whole(given: Json, name: str, otherwise: int) -> int:
    try:
        return int(given.get(name) or otherwise)
    except (TypeError, ValueError):
        raise _wrong(name, "this is no whole number") from None


def _wrong(field: str, message: str) -> Invalid:
    return Invalid(f"{field}: {message}", [Problem(field, "type", message)])


def _refusal(error: SkydeckError) -> Response:
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "INTERNAL_ERROR")
    status = 400 if isinstance(error, Invalid | Conflict) else error.status
    return _problem(status, code, error.message)


def _problem(status: int, code: str, message: str) -> Response:
    return JSONResponse({"error_code": code, "message": message}, status)
