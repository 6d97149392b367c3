"""`python -m worker.serving --home DIR`: serves until SIGINT or SIGTERM.

Listens on 127.0.0.1 alone. Exit status 1 with one line on stderr if it cannot start.
"""

import argparse
import logging
import secrets
import signal
import socket
import sys
from pathlib import Path

import uvicorn
from PIL import Image

from app import __version__
from worker.jobs.maze_grpo.base import BASE_FILE
from worker.jobs.maze_grpo.export import read_base
from worker.serving.announcement import announced
from worker.serving.connections import HeadInTime
from worker.serving.limits import MAX_CONNECTIONS
from worker.serving.logs import configure
from worker.serving.models import Models
from worker.serving.pictures import PICTURE_SIDE
from worker.serving.server import create_server

_BACKLOG = 128
_GRACE_SECONDS = 2
# Longer than clients keep an idle connection: they must be the ones who close it.
_KEEP_ALIVE_SECONDS = 75

log = logging.getLogger("worker.serving")


def main(arguments: list[str]) -> int:
    """Serves; returns the exit status."""
    parser = argparse.ArgumentParser(prog="worker.serving", description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="folder with adapters/")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--log-level", default="info")
    parser.add_argument("--log-format", choices=["text", "json"], default="text")
    options = parser.parse_args(arguments)
    configure(options.log_level, options.log_format)
    for number in (signal.SIGINT, signal.SIGTERM):
        # uvicorn ends well on both, and then raises them again for whoever was there before.
        signal.signal(number, lambda *_: sys.exit(0))
    # Pillow warns of larger pictures before their size can be looked at, and refuses twice that.
    Image.MAX_IMAGE_PIXELS = PICTURE_SIDE * PICTURE_SIDE
    try:
        _serve(options.home, options.port)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"skydeck endpoint: {error}\n")
        return 1
    return 0


def _serve(home: Path, port: int) -> None:
    base, _ = read_base(BASE_FILE)
    key = secrets.token_urlsafe(32)
    app = create_server(Models(base, home / "adapters"), key=key, version=__version__)
    config = uvicorn.Config(
        app,
        http=HeadInTime,
        log_config=None,
        access_log=False,
        ws="none",
        lifespan="off",
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    with (
        socket.create_server(("127.0.0.1", port), backlog=_BACKLOG) as listener,
        announced(home, port=listener.getsockname()[1], key=key) as base_url,
    ):
        # asyncio sets it only where the socket names its protocol: answers would wait 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        log.info("serving at %s", base_url)
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
