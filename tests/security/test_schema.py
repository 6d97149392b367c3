"""Thousands of strange requests over the whole OpenAPI: no server error, whatever is sent.

The number of examples an operation is `SCHEMA_EXAMPLES`.
"""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.core.result import Ok

from app.access.permissions import Scope
from app.runs import service as runs
from tests.api.helpers import V1, bearer, make_token
from tests.browser.conftest import opened, serving
from tests.conftest import sqlite_copy
from tests.web.seed import seed

EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", "15"))
ANSWERED_IN_SECONDS = 20.0


@schemathesis.serializer("application/zip")
def _zip(_context: object, value: Any) -> bytes:
    """The body of an upload, which is no JSON: most of what is made up is no zip either."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


@dataclass(frozen=True, slots=True)
class Attacked:
    """`known` are path parameters that name something that is there."""

    schema: schemathesis.BaseSchema
    known: dict[str, str]


@pytest.fixture(scope="module")
def attacked(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """A live server with runs in each state, called by an administrator."""
    folder = tmp_path_factory.mktemp("schema")
    database_url = sqlite_copy(sqlite_template, folder)

    async def fill() -> tuple[str, dict[str, str]]:
        async with opened(database_url) as database:
            seeded = await seed(database)
            async with database.read() as session:
                run = await runs.get(session, seeded.running)
            known = {"run_id": run.slug, "experiment_id": run.experiment.slug}
            return await make_token(database, Scope.ADMIN), known

    secret, known = asyncio.run(fill())
    with serving(folder, database_url, requests_per_minute=1_000_000) as url:
        loaded = schemathesis.openapi.from_url(f"{url}{V1}/openapi.json")
        loaded.config.update(base_url=url, headers=bearer(secret))
        yield Attacked(loaded, known)


@pytest.mark.slow
def test_no_request_breaks_the_server(attacked: Attacked) -> None:
    found = list(attacked.schema.get_all_operations())
    operations = [each.ok() for each in found if isinstance(each, Ok)]
    assert operations
    assert len(operations) == len(found), "a part of the schema cannot be read"
    broken = [each for operation in operations for each in server_errors(operation, attacked)]
    assert not broken, "\n".join(broken)


def server_errors(operation: Any, attacked: Attacked) -> list[str]:
    """The requests among `EXAMPLES` made-up ones that the server answered with its own failure."""
    found = []

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(), is_known=st.booleans())
    def ask(case: schemathesis.Case[Any], is_known: bool) -> None:
        if is_known:
            named = case.path_parameters.keys() & attacked.known.keys()
            case.path_parameters.update({name: attacked.known[name] for name in named})
        response = case.call(timeout=ANSWERED_IN_SECONDS)
        if response.status_code >= 500:
            found.append(f"{response.status_code} to {case.as_curl_command()}")

    ask()
    return found
