"""What all pages share: templates, forms, headers, errors, live streams."""

from fastapi import FastAPI


def install(app: FastAPI) -> None:
    """Puts all pages onto the application."""
    # Imported late: the pages themselves import from this package.
    from app.web import site

    site.install(app)
