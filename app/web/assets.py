"""Static files with a content hash in their URL, so that browsers may keep them for a year."""

import hashlib
from functools import lru_cache
from pathlib import Path
from urllib.parse import parse_qs

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from app.settings import ROOT

STATIC = ROOT / "static"
_YEAR = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"


class HashedStaticFiles(StaticFiles):
    """Serves `static/`. Only an URL that names the file's present hash may be kept."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC)

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("v", [""])[0]
        is_current = bool(asked) and response.status_code in (200, 304)
        is_current = is_current and asked == _hash_of(STATIC / path)
        response.headers["Cache-Control"] = _YEAR if is_current else _ASK_AGAIN
        return response


def static_url(path: str) -> str:
    """`/static/js/app.js?v=1a2b3c4d5e6f`. Raises `FileNotFoundError`."""
    return f"/static/{path}?v={_hash_of(STATIC / path)}"


def _hash_of(file: Path) -> str:
    status = file.stat()
    return _hash_at(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=256)
def _hash_at(file: Path, _changed: int, _size: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]
