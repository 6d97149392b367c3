"""Asks Skydeck for an answer that only it can give: whether jobs of a cluster reach it.

Stands alone and needs nothing but Python: a worker sends it to the cluster as a job. The exit
status says what happened (see `Way`), the last line says more. `SKYDECK_PROBE_URL` is where to
ask, `SKYDECK_PROBE_CHECK` what is sent as the token, `SKYDECK_PROBE_PROOF` the right answer.
"""

import json
import os
import socket
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

SECONDS = 10.0
_LONGEST = 10_000


class Way(IntEnum):
    """Exit statuses: 0 where Skydeck was reached, else what stood in the way."""

    OPEN = 0
    UNKNOWN_HOST = 41
    REFUSED = 42
    SILENT = 43
    UNTRUSTED = 44
    TURNED_AWAY = 45
    SOMEBODY_ELSE = 46
    BROKEN = 47


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A sign-in page in front of Skydeck redirects; that is what is to be said, not its page."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def main(environ: Mapping[str, str]) -> int:
    way, words = ask(
        environ["SKYDECK_PROBE_URL"],
        environ["SKYDECK_PROBE_CHECK"],
        environ["SKYDECK_PROBE_PROOF"],
    )
    sys.stdout.write(f"probe: {words}\n")
    return way


def ask(url: str, check: str, proof: str, *, seconds: float = SECONDS) -> tuple[Way, str]:
    """What became of it, in a word and in words. Proxies of the environment count, as for jobs."""
    headers = {"Authorization": f"Bearer {check}", "User-Agent": "skydeck-probe"}
    # The setting takes http and https alone.
    request = urllib.request.Request(f"{url}/api/v1/probe", headers=headers)  # noqa: S310
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=seconds) as answer:
            body = answer.read(_LONGEST)
    except urllib.error.HTTPError as error:
        return _turned_away(error)
    except (OSError, ValueError) as error:
        return _trouble(error)
    return _looked_at(body, proof)


def _looked_at(body: bytes, proof: str) -> tuple[Way, str]:
    try:
        found = json.loads(body)["proof"]
    except (ValueError, KeyError, TypeError):
        return Way.SOMEBODY_ELSE, f"the answer begins with {body[:60]!r}"
    if found != proof:
        return Way.SOMEBODY_ELSE, "another Skydeck answered, or one with other keys"
    return Way.OPEN, "Skydeck answered"


def _turned_away(error: urllib.error.HTTPError) -> tuple[Way, str]:
    to = error.headers.get("Location") if error.headers else None
    return Way.TURNED_AWAY, f"{error.code} {error.reason}" + (f", to {to[:200]}" if to else "")


def _trouble(error: OSError | ValueError) -> tuple[Way, str]:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    words = f"{type(cause).__name__}: {cause}" if isinstance(cause, Exception) else str(cause)
    for kind, way in (
        (socket.gaierror, Way.UNKNOWN_HOST),
        (ssl.SSLCertVerificationError, Way.UNTRUSTED),
        (ConnectionRefusedError, Way.REFUSED),
        (TimeoutError, Way.SILENT),
    ):
        if isinstance(cause, kind):
            return way, words
    return Way.BROKEN, words


if __name__ == "__main__":
    sys.exit(main(os.environ))
