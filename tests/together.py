"""Which files of tests share a process, since what they start is slow to start.

xdist's own `--dist loadgroup` names groups in a field that pytest 9 reads no more, so its groups
fall apart without a word.
"""

from xdist.scheduler import LoadFileScheduling

_GROUPS = {
    "tests/e2e/": "one skydeck",
    "tests/hyperpod/test_toolkit.py": "one Ray head",
    "tests/ray/test_embedded.py": "one Ray head",
    "tests/security/test_job_environment.py": "one Ray head",
}


class Together(LoadFileScheduling):  # type: ignore[misc]
    """As `--dist loadfile`, but that some files belong together."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return next((name for head, name in _GROUPS.items() if file.startswith(head)), file)
