"""Skydeck: launch, watch, compare, serve and play with RL training runs on Ray."""

import sys
from typing import Any, cast

__version__ = "0.1.0"

# httpx loads its command line with rich and pygments, 3 MB of each process, and does without where
# it cannot. That a name stands for None here is Python's own way to say so (Library Reference,
# `sys.modules`); nothing but that command line is hidden.
cast(dict[str, Any], sys.modules).setdefault("httpx._main", None)
