"""The process that is the embedded head: `ray start --head --block`, less what we do not want.

Run by its path, not as a module, so that neither it nor anything below it needs Skydeck on its
import path. Ray calls the hook named in RAY_START_HOOK with its parameters just before the start
(the same in Ray 2.57 and 2.60).
"""

import os
import sys
from typing import Any

_HOOK = "RAY_START_HOOK"


def shape(params: Any, head: bool) -> None:
    """Leaves out the Ray Client server: nobody uses it, and `--block` ends the whole head where a
    loaded machine does not bring it up within its fixed 30 seconds. No option of Ray's does this.
    """
    del head
    os.environ.pop(_HOOK)  # else jobs would inherit it
    params.ray_client_server_port = None


def main() -> None:
    os.environ[_HOOK] = f"{__name__}.{shape.__name__}"
    from ray.scripts.scripts import start

    start.main(sys.argv[1:], standalone_mode=False)


if __name__ == "__main__":
    main()
