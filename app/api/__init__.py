"""The JSON API's plumbing: errors, permissions, sessions, idempotency. Features hold the routes."""

from fastapi import FastAPI


def install(app: FastAPI) -> None:
    """Puts the JSON API and the health checks onto the application."""
    # Imported late: the routes themselves import from this package.
    from app.api import site

    site.install(app)
