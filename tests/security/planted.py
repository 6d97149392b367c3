"""Twenty secrets with everything in them that could slip through, and who looks for them."""

import base64
import html
import json
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, quote_plus

import zstandard

from app.secrets.masking import forms

_PEM = "\n".join(
    ["-----BEGIN PLANTED KEY-----", *(f"{i:02d}" + "MIIEpAIBAAKCAQ7bq+/x" * 3 for i in range(9))]
)
PROJECT = {
    "P_PLAIN": "hf_PlantedZx81kkLmPq",
    "P_REGEX": r"^pl[a-z]*.+(nt|ed)\d{3}$?|\\",
    "P_QUOTES": """pl'an"te`d'' "value" """,
    "P_UNICODE": "plänted-пароль-密码-🔑",
    "P_PERCENT": "planted%2Fvalue%%d&x=y;z#f",
    "P_BASE64": "cGxhbnRlZCB2YWx1ZSBvbmU/+w==",
    "P_KEY": _PEM + "\n-----END PLANTED KEY-----\n",
    "P_JSON": '{"planted": "json value", "nested": {"a\\\\b": [1, 2]}}',
    "P_SHORT": "pl4nted!",
    "P_SPACES": "planted  value\twith blanks",
}
SITE = {
    "S_PLAIN": "ghp_PlantedSiteValue0123456789",
    "S_HTML": "<b>planted&amp;site</b>\"'",
    "S_BACKSLASH": "planted\\n\\x00\\u1234 site\\",
    "S_LINES": "planted site line one\r\nplanted site line two\n\nplanted site line three",
    "S_SLASHES": "https://planted.example/a/b?c=d",
    "S_DOLLARS": "$planted ${site} $(value) `x`",
    "S_LONG": "planted-long-" + "0123456789abcdef" * 512,
    "S_OVERLAP": "hf_PlantedZx81kkLmPq-and-more",
    "S_NUMBER": "314159265358979323846",
    "S_ANSI": "planted\x1b[31msite\x1b[0mvalue",
}
ALL = PROJECT | SITE
_FORMS = sorted({form for value in ALL.values() for form in forms(value)})


def printed(value: str) -> Iterator[str]:
    """A value in the ways in which programs print it, each on lines of its own."""
    raw = value.encode()
    yield value
    yield repr(value)
    yield repr({"token": value})
    yield repr(raw)
    yield json.dumps({"token": value})
    yield json.dumps(json.dumps({"token": value}))
    yield json.dumps(value, ensure_ascii=False)
    yield f"export TOKEN={shlex.quote(value)}"
    yield f"https://example.org/?token={quote(value, safe='')}&form={quote_plus(value)}"
    yield html.escape(value)
    yield base64.b64encode(raw).decode()
    yield f"Authorization: Basic {base64.b64encode(b'user:' + raw).decode()}"
    yield base64.encodebytes(raw).decode()
    yield raw.hex()
    yield "".join(f"(trainer pid=7) {line}\n" for line in value.splitlines())
    yield f"\x1b[36m(trainer pid=7)\x1b[0m loaded {value!s}\x1b[0m\rdone {value}"


def finds(data: bytes | str) -> list[bytes]:
    """All forms of the planted values that stand in the data."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return [form for form in _FORMS if form in raw]


def columns(file: Path) -> Iterator[tuple[str, bytes]]:
    """`table.column` and content of every value in a SQLite file, compressed ones unpacked."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master")]
        for table in tables:
            if not connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = ? AND type = 'table'", (table,)
            ).fetchone():
                continue
            found = connection.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in found.description]
            for row in found:
                for name, value in zip(names, row, strict=True):
                    yield f"{table}.{name}", _plain(value)


def _plain(value: object) -> bytes:
    if not isinstance(value, bytes):
        return str(value).encode("utf-8", "surrogatepass")
    try:
        return zstandard.ZstdDecompressor().decompress(value) + value
    except zstandard.ZstdError:
        return value
