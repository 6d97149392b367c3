"""The web process: pages and API on a socket that is open already, or on the settings' address."""

import gc
import socket
import sys

import uvicorn

from app.errors import StartError
from app.main import create_app
from app.observability.logging import configure as configure_logging
from app.observability.logging import log_crashes
from app.settings import Settings, load_settings
from app.up.checks import listen
from app.up.connections import ConnectionLimits, bounded_protocol

# Live pages hold their connections open for ever; at the end they are cut off after this.
_GRACE_SECONDS = 2
# Longer than clients (httpx: 5 s) and load balancers (60 s, mostly) keep an idle connection: who
# closes first must be they, or a request may be on its way into a connection that is just closed.
_KEEP_ALIVE_SECONDS = 75


def serve(settings: Settings, listener: socket.socket | None = None) -> None:
    """Serves until SIGINT or SIGTERM. Raises `StartError` if the port is taken."""
    configure_logging(settings.log_level, settings.log_format)
    log_crashes()
    server = uvicorn.Server(server_config(settings, ConnectionLimits.of_process()))
    # What stands until the end is not searched for garbage: that held up all requests for 0.2 s.
    gc.collect()
    gc.freeze()
    server.run(sockets=[listener or listen(settings.host, settings.port)])


def server_config(settings: Settings, limits: ConnectionLimits) -> uvicorn.Config:
    """How uvicorn serves the application."""
    return uvicorn.Config(
        create_app(settings),
        http=bounded_protocol(limits),
        backlog=limits.backlog,
        # No page uses them, and they would leave the limits of connections.
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        # Whoever may say where a request came from could dodge the limit of wrong passwords.
        proxy_headers=settings.trusted_proxies is not None,
        forwarded_allow_ips=settings.trusted_proxies,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
    )


def main() -> int:
    """`python -m app.up.serve FILE_DESCRIPTOR`."""
    try:
        serve(load_settings(), socket.socket(fileno=int(sys.argv[1])))
    except StartError as error:
        sys.stderr.write(f"skydeck web: {error.message}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
