"""Routes of a feature, before there is an application.

FastAPI's own `APIRouter` builds each route where it is declared, and once more where it is put on
an application: twice the memory, and half a second of each start. This one builds nothing before.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import FastAPI
from fastapi.params import Depends
from fastapi.routing import APIRoute

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Declared:
    """A route as its decorator says it: `options` are those of `FastAPI.add_api_route`."""

    method: str
    path: str
    endpoint: Callable[..., Any]
    options: Mapping[str, Any]


class Router:
    """Takes routes in order. `tags` are their headings in the API's description."""

    def __init__(self, *, tags: Iterable[str] = (), route_class: type[APIRoute] = APIRoute) -> None:
        self.routes: list[Declared] = []
        self.route_class = route_class
        self._tags = list(tags)

    def get(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._declare("GET", path, options)

    def post(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._declare("POST", path, options)

    def put(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._declare("PUT", path, options)

    def patch(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._declare("PATCH", path, options)

    def delete(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._declare("DELETE", path, options)

    def put_on(
        self,
        app: FastAPI,
        *,
        prefix: str = "",
        dependencies: Iterable[Depends] = (),
        responses: Mapping[int | str, dict[str, Any]] | None = None,
        **defaults: Any,
    ) -> None:
        """Builds the routes on `app`. What a route says itself goes before `defaults`."""
        for each in self.routes:
            options = {**defaults, **each.options}
            options["tags"] = [*self._tags, *each.options.get("tags", ())]
            options["dependencies"] = [*dependencies, *each.options.get("dependencies", ())]
            options["responses"] = {**(responses or {}), **each.options.get("responses", {})}
            app.router.add_api_route(
                prefix + each.path,
                each.endpoint,
                methods=[each.method],
                route_class_override=self.route_class,
                **options,
            )

    def _declare(
        self, method: str, path: str, options: Mapping[str, Any]
    ) -> Callable[[Endpoint], Endpoint]:
        def declared(endpoint: Endpoint) -> Endpoint:
            self.routes.append(Declared(method, path, endpoint, options))
            return endpoint

        return declared
