"""Log lines: their fields, in both shapes, for our own loggers and those of libraries."""

import io
import json
import logging
from collections.abc import Iterator

import httpx
import pytest
import structlog
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from app.observability.logging import configure
from app.observability.requests import RequestLog


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def test_json_lines_have_the_bound_fields() -> None:
    stream = io.StringIO()
    configure("info", "json", stream)
    with structlog.contextvars.bound_contextvars(run="run-x", attempt=2):
        logging.getLogger("library").warning("slow %s", "disk", extra={"seconds": 3})
        structlog.stdlib.get_logger("ours").info("saved", step=7)
        logging.getLogger("library").debug("unseen")
    library, ours = (json.loads(line) for line in stream.getvalue().splitlines())
    assert library.items() >= {"event": "slow disk", "run": "run-x", "seconds": 3}.items()
    assert (library["level"], library["logger"]) == ("warning", "library")
    assert ours.items() >= {"event": "saved", "step": 7, "attempt": 2}.items()
    assert ours["timestamp"].endswith("Z")


def test_an_exception_stays_on_its_json_line() -> None:
    stream = io.StringIO()
    configure("info", "json", stream)
    try:
        raise ValueError("broken")
    except ValueError as error:
        logging.getLogger("x").error("failed", exc_info=error)
    [line] = stream.getvalue().splitlines()
    assert "ValueError: broken" in json.loads(line)["exception"]


def test_text_lines_are_for_people() -> None:
    stream = io.StringIO()
    configure("warning", "text", stream)
    logging.getLogger("x").warning("disk is slow", extra={"seconds": 3})
    logging.getLogger("x").info("unseen")
    [line] = stream.getvalue().splitlines()
    assert "disk is slow" in line
    assert "seconds=3" in line
    assert "\x1b" not in line


@pytest.mark.parametrize("sign", ["\0", "\n", "\r", "\x1b", "\x7f", "\x9b", "\u2028", "\ud800"])
def test_text_lines_hold_no_control_characters(sign: str) -> None:
    stream = io.StringIO()
    configure("info", "text", stream)
    with structlog.contextvars.bound_contextvars(run=f"run{sign}x"):
        logging.getLogger("x").info(f"a{sign}b", extra={"path": f"/runs/{sign}"})
    line = stream.getvalue()
    assert line.removesuffix("\n").isprintable()
    assert line.count(repr(sign)[1:-1]) == 3


def test_a_traceback_has_its_lines_and_no_other_control_characters() -> None:
    stream = io.StringIO()
    configure("info", "text", stream)
    try:
        raise ValueError("bro\x1bken")
    except ValueError as error:
        logging.getLogger("x").error("failed", exc_info=error)
    assert "\nValueError: bro\\x1bken" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


async def test_what_changes_something_has_one_line_without_its_query() -> None:
    stream = io.StringIO()
    configure("info", "json", stream)
    inside: list[str] = []

    async def answer(_request: object) -> PlainTextResponse:
        inside.append(structlog.contextvars.get_contextvars()["request_id"])
        return PlainTextResponse("fine", 201)

    app = Starlette(routes=[Route("/thing", answer, methods=["GET", "POST"])])
    app.add_middleware(RequestLog)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://skydeck"
    ) as client:
        got = await client.post("/thing?token=secret")
        await client.get("/thing")
    [line] = (json.loads(line) for line in stream.getvalue().splitlines())
    assert line.items() >= {"method": "POST", "path": "/thing", "status": 201}.items()
    assert line["request_id"] == inside[0] == got.headers["x-request-id"]
    assert "secret" not in stream.getvalue()


def test_what_libraries_add_for_themselves_is_left_out() -> None:
    stream = io.StringIO()
    configure("info", "json", stream)
    logging.getLogger("x").info("hello", extra={"color_message": "\x1b[1mhello", "seconds": 1})
    line = json.loads(stream.getvalue())
    assert "color_message" not in line
    assert line["seconds"] == 1
