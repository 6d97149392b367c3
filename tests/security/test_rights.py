"""Every route, called by everybody, for things of their own project and of another's."""

import re
from dataclasses import astuple

import httpx
import pytest
from fastapi import FastAPI

from app.access import coverage
from app.access.coverage import guards_of, require_guards
from app.access.permissions import Permission
from app.api.deps import ApiGuard
from app.main import create_app
from app.settings import Settings
from app.tracking.api import PREFIX as TRACKING
from app.tracking.api import TrackingGuard
from app.web.deps import SESSION_COOKIE, PageGuard
from tests.api.helpers import RECIPE, V1, bearer
from tests.security.rights_table import (
    PEOPLE,
    PUBLIC,
    RIGHTS,
    TOKENS,
    UNKNOWN,
    Place,
    places,
)
from tests.security.world import Things, World

API = (V1, TRACKING)
HEALTH = ("/healthz", "/readyz")
SAFE = {"GET", "HEAD"}
MISSING = Things(
    "nowhere",
    "exp-nothing1",
    "run-nothing1",
    "code-nothing1",
    "swp-nothing1",
    "evl-nothing1",
    checkpoint="ckpt-nothing1",
    promotion="prm-nothing1",
    adapter="adp-nothing1",
    episode="eps-nothing1",
)
# What lets a call do its work; without one it is refused for its body, behind the guard.
BODIES: dict[Place, object] = {
    ("POST", f"{V1}/experiments"): {"name": "new", "recipe": RECIPE},
    ("POST", f"{V1}/runs/external"): {"name": "new"},
    ("POST", f"{V1}/runs/import"): {"runs": [{"name": "new"}]},
    ("POST", f"{V1}/runs/{{run_id}}/metrics"): {"points": [{"key": "loss", "step": 1, "value": 1}]},
    ("POST", f"{V1}/runs/{{run_id}}/finish"): {"status": "failed"},
    ("POST", f"{V1}/experiments/{{experiment_id}}/versions"): {"config": {"trainer.seed": 5}},
    ("POST", f"{V1}/projects"): {"name": "New"},
    ("PATCH", f"{V1}/projects/{{project_id}}"): {"name": "Renamed"},
    ("PUT", f"{V1}/projects/{{project_id}}/members/{{name:path}}"): {"role": "viewer"},
}
FORMS = {
    ("POST", "/settings/tokens"): {"name": "new", "scope": "read"},
    ("POST", "/runs/new"): {"recipe": RECIPE},
    ("POST", "/runs/views"): {"name": "mine"},
    ("POST", "/runs/new/changes"): {"recipe": RECIPE, "do": "show"},
    ("POST", "/runs/new/check"): {"recipe": RECIPE},
    ("POST", "/runs/new/package"): {"recipe": RECIPE, "do": "show"},
    ("POST", "/runs/new/package/{name}"): {"recipe": RECIPE},
    ("POST", "/runs/new/yaml"): {"recipe": RECIPE, "do": "show"},
    ("POST", "/experiments/{slug}/edit"): {"name": "Edited"},
    ("POST", "/projects/new"): {"name": "Newer"},
    ("POST", "/projects/{slug}/members"): {"name": "bystander", "role": "viewer"},
    ("POST", "/projects/{slug}/members/change"): {"name": "bystander", "role": "member"},
    ("POST", "/projects/{slug}/rename"): {"project_name": "Renamed"},
}
Query = list[tuple[str, str | int | float | bool | None]]
KEYED = ("/series", "/series.csv", "/points", "/chart", "/charts")
KINDS = {
    "project": "projects",
    "experiment": "experiments",
    "run": "runs",
    "code": "code",
    "sweep": "sweeps",
    "evaluation": "evaluations",
    "checkpoint": "checkpoints",
    "promotion": "promotions",
    "adapter": "adapters",
    "episode": "episodes",
}


# What the application says of itself.


def test_each_route_needs_what_the_table_says(app: FastAPI) -> None:
    found = {
        place: (guards[0].permission, guards[0].kind)
        for place, guards in guards_of(app).items()
        if guards
    }
    assert found == RIGHTS


def test_the_public_routes_are_those_of_the_table(app: FastAPI) -> None:
    assert {place for place, guards in guards_of(app).items() if not guards} == set(places(PUBLIC))
    assert set(places(PUBLIC)) == coverage.PUBLIC


def test_the_api_takes_tokens_and_pages_take_sessions(app: FastAPI) -> None:
    for (_, path), guards in guards_of(app).items():
        api = TrackingGuard if path.startswith(TRACKING) else ApiGuard
        kind = api if path.startswith(API) else PageGuard
        assert all(isinstance(guard, kind) for guard in guards), path
        lets_runs_in = any(isinstance(guard, TrackingGuard) for guard in guards)
        assert lets_runs_in == (kind is TrackingGuard), path


def test_what_changes_something_needs_more_than_reading() -> None:
    changing = [place for place, right in RIGHTS.items() if place[0] not in SAFE]
    asks = {("POST", f"{V1}/configs/{what}") for what in ("diff", "import", "render", "validate")}
    asks |= {("POST", f"{TRACKING}/{what}/search") for what in ("experiments", "runs")}
    assert {place for place in changing if RIGHTS[place][0] is Permission.READ} == asks


def test_a_route_without_a_guard_stops_the_start(settings: Settings) -> None:
    app = create_app(settings)

    @app.get("/runs-of-everybody")
    async def careless() -> None: ...

    with pytest.raises(RuntimeError, match="/runs-of-everybody must have 1 guards and has 0"):
        require_guards(app)


# What it does.


@pytest.mark.parametrize("name", UNKNOWN)
async def test_who_is_not_known_gets_nothing(
    http: httpx.AsyncClient, world: World, name: str
) -> None:
    for place in RIGHTS:
        answer = await _call(http, world, place, name, world.ours)
        assert _refusal(answer) == "unknown", (place, answer.status_code)


async def test_a_browser_session_is_no_token(http: httpx.AsyncClient, world: World) -> None:
    http.cookies.set(SESSION_COOKIE, world.sessions["site administrator"])
    for method, path in RIGHTS:
        if path.startswith(API):
            assert (await http.request(method, path)).status_code == 401, path


@pytest.mark.parametrize("whose", ["ours", "theirs"])
@pytest.mark.parametrize("name", [*PEOPLE, *TOKENS])
async def test_everybody_gets_what_the_table_says(
    http: httpx.AsyncClient, world: World, name: str, whose: str
) -> None:
    caller = (PEOPLE | TOKENS)[name]
    things = world.ours if whose == "ours" else world.theirs
    wrong = []
    for place, (permission, kind) in RIGHTS.items():
        is_page = not place[1].startswith(API)
        if (is_page and name in TOKENS) or (kind is None and whose == "theirs"):
            continue
        answer = await _call(http, world, place, name, things)
        may = caller.anywhere if kind is None else getattr(caller, whose)
        wanted = _wanted(permission, may, is_named=kind is not None)
        if _refusal(answer) != wanted or answer.status_code >= 500:
            wrong.append((place, wanted, answer.status_code, answer.text[:200]))
    assert not wrong


async def test_what_may_not_be_read_answers_like_what_is_not_there(
    http: httpx.AsyncClient, world: World
) -> None:
    for place, (_, kind) in RIGHTS.items():
        if kind is None:
            continue
        hidden = await _call(http, world, place, "administrator", world.theirs)
        missing = await _call(http, world, place, "administrator", MISSING)
        assert hidden.status_code == missing.status_code == 404, place
        assert _anonymous(hidden, world.theirs) == _anonymous(missing, MISSING), place


def _wanted(permission: Permission, may: frozenset[Permission], *, is_named: bool) -> str:
    if permission in may:
        return ""
    return "hidden" if is_named and Permission.READ not in may else "forbidden"


def _refusal(answer: httpx.Response) -> str:
    """How a guard refused: `unknown`, `forbidden`, `hidden`; empty if it let the call in.

    What was let in may be refused for another reason: an empty body, a thing in another state, or
    something inside of the named object that is not there.
    """
    leads_to_sign_in = answer.headers.get("location", "").startswith("/sign-in")
    if answer.status_code == 401 or (answer.status_code == 303 and leads_to_sign_in):
        return "unknown"
    if answer.status_code == 403:
        return "forbidden"
    kinds = "|".join(KINDS)
    is_named = re.search(rf"[Tt]here is no ({kinds}) [a-z0-9-]+", answer.text)
    return "hidden" if answer.status_code == 404 and is_named else ""


async def _call(
    http: httpx.AsyncClient, world: World, place: Place, name: str, things: Things
) -> httpx.Response:
    method, path = place
    kind = RIGHTS[place][1]
    url = _filled(path, world, things)
    query: Query = [("key", "loss")] if path.endswith(KEYED) else []
    query += [("from", 1), ("to", 1)] if path.endswith("/diff") else []
    if kind is not None and "{slug}" not in path and f"{{{kind}_id}}" not in path:
        query.append((kind.value, getattr(things, kind)))
    http.cookies.clear()
    if path.startswith(API):
        headers = bearer(world.tokens[name]) if name in world.tokens else {}
        body = BODIES.get(place, {}) if method in ("POST", "PUT", "PATCH") else None
        return await http.request(method, url, params=query, headers=headers, json=body)
    if name in world.sessions:
        http.cookies.set(SESSION_COOKIE, world.sessions[name])
    return await http.request(method, url, params=query, data=FORMS.get(place))


def _filled(path: str, world: World, things: Things) -> str:
    place = path.replace("/playground/", "/episodes/")
    kind = next((kind for kind, plural in KINDS.items() if f"/{plural}/" in place), "")
    values = {
        "slug": getattr(things, kind) if kind else "nothing",
        "project_id": things.project,
        "experiment_id": things.experiment,
        "run_id": things.run,
        "code_id": things.code,
        "sweep_id": things.sweep,
        "evaluation_id": things.evaluation,
        "checkpoint_id": things.checkpoint,
        "promotion_id": things.promotion,
        "adapter_id": things.adapter,
        "episode_id": things.episode,
        "lane": "1",
        "turn": "1",
        "user_id": world.bystander,
        "kind": "csv",
        "name": "bystander",
        "version": "1",
    }
    return re.sub(r"{(\w+)(:path)?}", lambda found: values.get(found[1], "nothing"), path)


def _anonymous(answer: httpx.Response, things: Things) -> str:
    text = answer.text
    for slug in astuple(things):
        text = text.replace(slug, "it")
    return text
