"""The service's own lines: without known secrets, and without what looks like a credential."""

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest
import structlog

from app.observability import masking
from app.observability.logging import configure
from app.observability.masking import masked, remember
from app.settings import ROOT

VALUE = "observed-Zx81'kk\nLmPq"


@pytest.fixture(autouse=True)
def _restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    monkeypatch.setattr(masking, "_known", set())
    monkeypatch.setattr(masking, "_masker", None)
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.mark.parametrize("shape", ["text", "json"])
def test_a_value_that_was_seen_is_on_no_line(shape: str) -> None:
    remember("TOKEN", VALUE)
    stream = io.StringIO()
    configure("debug", shape, stream)
    logging.getLogger("library").warning("got %s", VALUE, extra={"deep": {"er": [(VALUE, b"x")]}})
    structlog.stdlib.get_logger("ours").info(f"saved {VALUE!r}", note=json.dumps({"a": VALUE}))
    with structlog.contextvars.bound_contextvars(run=VALUE):
        logging.getLogger("x").info("bound")
    written = stream.getvalue()
    assert written.count("***TOKEN***") >= 5
    assert "Zx81" not in written


@pytest.mark.parametrize("shape", ["text", "json"])
def test_nor_in_a_traceback(shape: str) -> None:
    remember("TOKEN", VALUE)
    stream = io.StringIO()
    configure("debug", shape, stream)
    try:
        try:
            raise KeyError(VALUE)
        except KeyError as error:
            raise RuntimeError(f"because of {VALUE}") from error
    except RuntimeError:
        logging.getLogger("x").exception("failed")
    assert "KeyError" in stream.getvalue()
    assert "Zx81" not in stream.getvalue()


def test_a_value_is_known_at_once_and_others_stay() -> None:
    assert masked(f"a {VALUE} b") == f"a {VALUE} b"
    remember("TOKEN", VALUE)
    remember("OTHER", "another value")
    assert masked(f"a {VALUE} b another value") == "a ***TOKEN*** b ***OTHER***"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("token sky_x7Rf2kAbCdEf0123 used", "token sky_*** used"),
        ("Authorization: Bearer abc.def-ghi", "Authorization: ***"),
        ("{'authorization': 'Basic dXNlcjpwYXNz'}", "{'authorization': '***'}"),
        ('{"Cookie": "skydeck_session=abc; x=y"}', '{"Cookie": "***"}'),
        ("[(b'cookie', b'skydeck_session=abc')]", "[(b'cookie', b'***')]"),
        ("Set-Cookie: a=b; Path=/", "Set-Cookie: ***"),
        ("a bearer abcdefgh1234", "a bearer ***"),
        ("postgresql+asyncpg://ada:pw@db:5432/x", "postgresql+asyncpg://ada:***@db:5432/x"),
        (
            "http://127.0.0.1:8000/sign-in?token=AbC&next=/",
            "http://127.0.0.1:8000/sign-in?token=***&next=/",
        ),
        ("see https://example.org:8080/a?b=c", "see https://example.org:8080/a?b=c"),
        ("step 12: 5 tokens a second", "step 12: 5 tokens a second"),
    ],
)
def test_what_looks_like_a_credential_is_masked(text: str, shown: str) -> None:
    assert masked(text) == shown


def test_fields_that_are_named_so_are_masked_whatever_they_hold() -> None:
    stream = io.StringIO()
    configure("debug", "json", stream)
    logging.getLogger("x").info("signed in", extra={"password": "tiny", "Cookie": "a=b"})
    line = json.loads(stream.getvalue())
    assert (line["password"], line["Cookie"]) == ("***", "***")


@pytest.mark.parametrize(
    "crash",
    [
        "raise RuntimeError(VALUE)",
        "t = threading.Thread(target=lambda: 1 / int(VALUE)); t.start(); t.join()",
        "asyncio.run(lost())",
        "gc.collect(); Broken()",
    ],
)
def test_errors_that_nothing_catches_are_masked(crash: str) -> None:
    program = f"""
import asyncio, gc, threading
from app.observability.logging import configure, log_crashes
from app.observability.masking import remember
VALUE = {VALUE!r}
remember("TOKEN", VALUE)
configure("info", "text")
log_crashes()
class Broken:
    def __del__(self): raise ValueError(VALUE)
async def lost():
    async def fail(): raise ValueError(VALUE)
    task = asyncio.create_task(fail())
    await asyncio.sleep(0.01)
    del task
    gc.collect()
{crash}
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert "***TOKEN***" in done.stderr
    assert "Zx81" not in done.stderr + done.stdout
