"""Databases with a key file."""

from pathlib import Path

import pytest

from app.db import Database
from app.secrets import crypto
from app.secrets.vault import attach


def with_keys(database: Database, file: Path) -> Database:
    """The same database; its sessions can read and set secrets."""
    file.parent.mkdir(parents=True, exist_ok=True)
    crypto.make_file(file)
    attach(database, file)
    return database


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    return tmp_path / "secret.keys"


@pytest.fixture
def vaulted(database: Database, key_file: Path) -> Database:
    """On both databases."""
    return with_keys(database, key_file)
