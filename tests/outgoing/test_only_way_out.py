"""No call to another host goes past `app.outgoing`: nothing else makes a client for one."""

import ast
from collections.abc import Iterator
from pathlib import Path

from app.settings import ROOT

LIBRARIES = frozenset(
    ("aiohttp", "ftplib", "http.client", "httpcore", "requests", "smtplib", "urllib.request")
)
MAKERS = frozenset(
    (
        *("AsyncClient", "AsyncHTTPTransport", "Client", "HTTPTransport"),
        *("create_connection", "open_connection"),
    )
)
CALLS = frozenset(("delete", "get", "head", "options", "patch", "post", "put", "request", "stream"))
EXEMPT = {
    "app/client.py": "the client of our own API, on the caller's machine",
    "app/commands/doctor.py": "asks the health page of our own service",
    "app/up/supervisor.py": "asks the health page of the web process that it started",
    "worker/jobs/probe.py": "runs on a cluster, as a job, and asks our own service from there",
}


def ways_out(tree: ast.AST) -> Iterator[int]:
    """The lines on which something that calls other hosts is imported or made."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_httpx = isinstance(node.func.value, ast.Name) and node.func.value.id == "httpx"
            if node.func.attr in MAKERS or (is_httpx and node.func.attr in CALLS):
                yield node.lineno
            continue
        else:
            continue
        if any(name in LIBRARIES or name.startswith("httpx.") for name in names):
            yield node.lineno


def found_in(file: Path) -> list[int]:
    return list(ways_out(ast.parse(file.read_text())))


def test_only_outgoing_makes_clients() -> None:
    files = [file for folder in ("app", "worker") for file in (ROOT / folder).rglob("*.py")]
    assert len(files) > 50
    places = {
        name: lines
        for file in files
        if not (name := file.relative_to(ROOT).as_posix()).startswith("app/outgoing/")
        if (lines := found_in(file)) and name not in EXEMPT
    }
    assert places == {}


def test_no_exemption_is_left_over() -> None:
    assert [name for name in EXEMPT if not found_in(ROOT / name)] == []


def test_the_search_finds_what_it_looks_for() -> None:
    assert found_in(ROOT / "app/outgoing/client.py")
    for line in (
        "import requests",
        "from urllib.request import urlopen",
        "from urllib import request",
        "from httpx import AsyncClient",
        "httpx.get('x')",
        "httpx.AsyncClient()",
        "await asyncio.open_connection('x', 1)",
    ):
        assert list(ways_out(ast.parse(line))), line
    assert not list(ways_out(ast.parse("import httpx\nrow.get('x')\nerror: httpx.HTTPError")))
