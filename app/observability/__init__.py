"""What the service says about itself: log lines on stderr, one id a request."""

import sys
from typing import Any, cast

# structlog loads rich for tracebacks in a form that is never printed here: 3 MB of each process.
if "rich" not in sys.modules:
    cast(dict[str, Any], sys.modules)["rich"] = None
    import structlog  # noqa: F401 - loaded while rich cannot be

    del sys.modules["rich"]
