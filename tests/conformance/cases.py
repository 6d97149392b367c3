"""Finds conformance case files: the copy in `tests/conformance/data`, plus `SKYDECK_SHARED`.

The copy always runs. `SKYDECK_SHARED=DIR` adds the files found under `DIR/<area>`, and never
replaces one, so that a newer recording by the real programs is checked beside the copy.
"""

import os
from pathlib import Path

DATA = Path(__file__).parent / "data"


def case_files(area: str, pattern: str) -> list[Path]:
    """All files of `area` (`visgym`, `skyrl`) that match the glob `pattern`, sorted.

    Raises `FileNotFoundError` if the copy has none: a check that finds no case must not pass.
    """
    own = sorted((DATA / area).glob(pattern))
    if not own:
        raise FileNotFoundError(f"no case file {area}/{pattern} under {DATA}")
    shared = os.environ.get("SKYDECK_SHARED")
    return own + (sorted((Path(shared) / area).glob(pattern)) if shared else [])
