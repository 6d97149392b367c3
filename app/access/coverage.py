"""Default deny: an application with a route that names no permission does not start."""

from collections.abc import Iterator

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts

from app.access.guard import Guard

PUBLIC = frozenset(
    {
        ("GET", "/api/v1/openapi.json"),
        ("GET", "/api/v1/probe"),
        ("GET", "/healthz"),
        ("GET", "/join"),
        ("GET", "/readyz"),
        ("GET", "/reset"),
        ("GET", "/shared/{secret}"),
        ("GET", "/shared/{secret}/pictures/{lane}/{turn}.png"),
        ("GET", "/shared/{secret}/points"),
        ("GET", "/sign-in"),
        ("POST", "/join"),
        ("POST", "/reset"),
        ("POST", "/sign-in"),
        ("POST", "/sign-in/link"),
        ("POST", "/sign-out"),
        ("MOUNT", "/static"),
    }
)
"""All that a stranger may call. Whatever is added here is for everybody on the network."""


def guards_of(app: FastAPI) -> dict[tuple[str, str], list[Guard]]:
    """The guards of each route by (method, path); HEAD goes with GET, a mount has no methods."""
    found: dict[tuple[str, str], list[Guard]] = {}
    for route in iter_route_contexts(app.routes):
        dependant = getattr(route, "dependant", None)
        guards = list(_guards(dependant)) if dependant else []
        for method in sorted(set(route.methods or {"MOUNT"}) - {"HEAD"}):
            found[method, str(route.path)] = guards
    return found


def require_guards(app: FastAPI) -> None:
    """Raises `RuntimeError` unless each route has one guard, or is public and has none."""
    for place, guards in guards_of(app).items():
        wanted = 0 if place in PUBLIC else 1
        if len(set(guards)) != wanted:
            name = " ".join(place)
            raise RuntimeError(f"{name} must have {wanted} guards and has {len(set(guards))}")


def _guards(dependant: Dependant) -> Iterator[Guard]:
    if isinstance(dependant.call, Guard):
        yield dependant.call
    for inner in dependant.dependencies:
        yield from _guards(inner)
