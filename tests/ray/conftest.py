import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def home() -> Iterator[Path]:
    """A home folder with a path so short that heads keep their folders under it."""
    folder = Path(tempfile.mkdtemp(prefix="sky-", dir="/tmp"))
    (folder / "ray").mkdir()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
