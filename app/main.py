"""The web application: pages and JSON API over one database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

from fastapi import FastAPI

from app import __version__, api, web
from app.access.coverage import require_guards
from app.access.denial_limit import DenialLimit
from app.access.denials import DenialLog
from app.access.limits import RequestCounter
from app.db import Database
from app.playground.under_way import UnderWay
from app.secrets.vault import attach
from app.settings import Settings


def create_app(settings: Settings, database: Database | None = None) -> FastAPI:
    """Builds the application; a database that is handed in is not closed by it."""
    own = database is None
    opened = database or Database(settings.url)
    attach(opened, settings.secret_keys)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        # Loads what the first request would else wait a quarter of a second for.
        await asyncio.to_thread(import_module, "anyio._backends._asyncio")
        yield
        if own:
            await opened.close()

    app = FastAPI(
        title="Skydeck",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
    )
    app.state.settings = settings
    app.state.database = opened
    app.state.request_counter = RequestCounter()
    app.state.denial_limit = DenialLimit()
    app.state.under_way = UnderWay()
    app.add_middleware(DenialLog)
    api.install(app)
    web.install(app)
    require_guards(app)
    return app
