"""The browser of the page tests."""

from tests.browser.conftest import browser

__all__ = ["browser"]
