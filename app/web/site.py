"""The pages of all features, and how they are put onto the application."""

from fastapi import Depends, FastAPI

from app.access.limits import RequestLimit
from app.adapters import routes as adapters
from app.audit import routes as audit
from app.checkpoints import routes as checkpoints
from app.clusters import action_routes as cluster_actions
from app.clusters import form_routes as cluster_forms
from app.clusters import routes as clusters
from app.code import routes as code
from app.compare import routes as compare
from app.editor import import_routes
from app.editor import routes as editor
from app.endpoints import routes as endpoints
from app.evaluations import routes as evaluations
from app.experiments import form_routes as experiment_forms
from app.experiments import routes as experiments
from app.experiments import tab_routes as experiment_tabs
from app.metrics import routes as metrics
from app.outgoing import routes as outgoing
from app.playground import rollout_routes
from app.playground import routes as playground
from app.playground import stream_routes as playground_streams
from app.projects import routes as projects
from app.runs import (
    action_routes,
    routes,
    selection_routes,
    stream_routes,
    tab_routes,
    table_routes,
)
from app.secrets import routes as secrets
from app.sharing import routes as sharing
from app.sweeps import routes as sweeps
from app.users import account_routes, invite_routes, link_routes, people_routes
from app.users import routes as users
from app.users.gate import SignInGate
from app.web import errors, preferences
from app.web.assets import HashedStaticFiles
from app.web.csp import SecurityHeaders
from app.web.csrf import SameSiteOnly
from app.web.timeouts import BodyInTime

FORM_BYTES = 1_000_000
ROUTERS = (
    users.router,
    link_routes.router,
    account_routes.router,
    people_routes.router,
    invite_routes.router,
    preferences.router,
    # Before the run pages: `/runs/new` is no run's slug.
    editor.router,
    import_routes.router,
    # So is none of its parts.
    table_routes.router,
    selection_routes.router,
    routes.router,
    action_routes.router,
    tab_routes.router,
    stream_routes.router,
    metrics.router,
    compare.router,
    checkpoints.router,
    adapters.router,
    projects.router,
    experiments.router,
    experiment_tabs.router,
    experiment_forms.router,
    sweeps.router,
    # Before the clusters' own pages: `/clusters/new` is no cluster's slug.
    cluster_actions.router,
    evaluations.router,
    playground.router,
    playground_streams.router,
    rollout_routes.router,
    clusters.router,
    cluster_forms.router,
    endpoints.router,
    code.router,
    secrets.router,
    audit.router,
    sharing.router,
    outgoing.router,
)


def install(app: FastAPI) -> None:
    """Adds all pages, static files, security headers and the pages shown for errors."""
    limits = [Depends(RequestLimit("pages"))]
    for router in ROUTERS:
        router.put_on(app, dependencies=limits, include_in_schema=False, max_body_size=FORM_BYTES)
    app.mount("/static", HashedStaticFiles(), name="static")
    errors.install(app)
    app.add_middleware(SameSiteOnly)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(BodyInTime)
    app.add_middleware(SignInGate)
