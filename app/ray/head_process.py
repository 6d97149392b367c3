"""The process that is the embedded head: `ray start --head --block`, less what we do not want.

Run by its path, not as a module, so that neither it nor anything below it needs Skydeck on its
import path. It changes two things of Ray (2.60) for which there is no option: the Ray Client
server is left out, and a busy machine gets more than 30 seconds to bring up its node.
"""

import os
import sys
import time
from collections.abc import Callable
from typing import Any

_HOOK = "RAY_START_HOOK"
_NODE_SECONDS = 150.0


def main() -> None:
    from ray._private import services
    from ray.scripts.scripts import start

    # Ray calls the function of this name with its parameters just before the start.
    os.environ[_HOOK] = f"{__name__}.{shape.__name__}"
    services.get_node = patient(services.get_node, seconds=_NODE_SECONDS)
    start.main(sys.argv[1:], standalone_mode=False)


def shape(params: Any, head: bool) -> None:
    """Leaves out the Ray Client server: nobody uses it, and `--block` ends the whole head where a
    busy machine does not bring it up within its fixed 30 seconds.
    """
    del head
    os.environ.pop(_HOOK)  # else jobs would inherit it
    params.ray_client_server_port = None


def patient(get_node: Callable[..., Any], *, seconds: float) -> Callable[..., Any]:
    """`get_node` that asks again while the node is not there yet (`RuntimeError`).

    Ray gives up after a fixed 30 seconds, which the agents' imports alone can take.
    """

    def ask(*args: Any, **options: Any) -> Any:
        deadline = time.monotonic() + seconds
        while True:
            try:
                return get_node(*args, **options)
            except RuntimeError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)

    return ask


if __name__ == "__main__":
    main()
