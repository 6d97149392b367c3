"""The process that is the embedded head: `ray start --head --block`, less what we do not want.

Run by its path, not as a module, so that neither it nor anything below it needs Skydeck on its
import path. It changes two things of Ray (2.60) for which there is no option: the Ray Client
server is left out, and the node does not wait for ports that we chose ourselves.
"""

import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

_HOOK = "RAY_START_HOOK"
_AGENT_PORTS = (
    "metrics_agent_port",
    "metrics_export_port",
    "dashboard_agent_listen_port",
    "runtime_env_agent_port",
)


def main() -> None:
    from ray._private import services
    from ray._raylet import persist_port  # type: ignore[attr-defined]  # not in its stub
    from ray.scripts.scripts import start

    # Ray calls the function of this name with its parameters just before the start.
    os.environ[_HOOK] = f"{__name__}.{shape.__name__}"
    services.start_raylet = with_known_ports(services.start_raylet, persist_port)
    start.main(sys.argv[1:], standalone_mode=False)


def shape(params: Any, head: bool) -> None:
    """Leaves out the Ray Client server: nobody uses it, and `--block` ends the whole head where a
    busy machine does not bring it up within its fixed 30 seconds.
    """
    del head
    os.environ.pop(_HOOK)  # else jobs would inherit it
    params.ray_client_server_port = None


def with_known_ports(
    start_raylet: Callable[..., Any], persist_port: Callable[[str, str, str, int], None]
) -> Callable[..., Any]:
    """`start_raylet` that first notes the ports of the node's agents in the session's folder.

    The agents write these notes when they are up, and the node aborts if they take more than a
    fixed 15 seconds, which their imports do on a busy machine (seen at load 6).
    """
    signature = inspect.signature(start_raylet)

    def start(*args: Any, **options: Any) -> Any:
        given = signature.bind(*args, **options).arguments
        for name in _AGENT_PORTS:
            persist_port(given["session_dir"], given["node_id"], name, given[name])
        return start_raylet(*args, **options)

    return start


if __name__ == "__main__":
    main()
