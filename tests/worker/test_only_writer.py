"""Only `app/runs/states.py` changes the status of a run or an attempt.

A status set elsewhere leaves no event behind, and may be one that cannot follow the old one.
"""

import re

from app.settings import ROOT

ASSIGNED = re.compile(r"^\s*(?:\w*(?:run|attempt))\.status(?:: \w+)? = ", re.MULTILINE)
ALLOWED = {"app/runs/states.py": 2}


def test_no_other_module_assigns_a_status() -> None:
    files = [file for folder in ("app", "worker") for file in (ROOT / folder).rglob("*.py")]
    counts = {str(f.relative_to(ROOT)): len(ASSIGNED.findall(f.read_text())) for f in files}
    assert {name: count for name, count in counts.items() if count} == ALLOWED
