"""One `skydeck up` for all tests that only use it."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import browser
from tests.e2e.skydeck import Skydeck, running

__all__ = ["browser"]


@pytest.fixture(scope="package")
def skydeck() -> Iterator[Skydeck]:
    """Ready, with a cluster that takes jobs. Who stops it starts it again."""
    # Short: the names of Ray's sockets must fit behind it.
    folder = Path(tempfile.mkdtemp(prefix="sky-", dir="/tmp"))
    with running(folder / "home") as started:
        started.wait_ready()
        started.wait_head()
        yield started
    shutil.rmtree(folder, ignore_errors=True)
