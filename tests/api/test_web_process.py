"""The web process stays small: what it imports, and how much memory it takes."""

import os
import subprocess
import sys

from app.settings import ROOT

FORBIDDEN = (
    *("ray", "boto3", "torch", "alembic"),
    # Loaded with the first request that needs them, or never.
    *("rich", "omegaconf", "cryptography", "re2", "pathspec", "nh3", "tsdownsample", "tenacity"),
)
RSS_BYTES = 150_000_000
PROGRAM = """
import re, sys
from pathlib import Path

# A linter brings it, the product does not; the filter language's parser takes it where it is.
sys.modules["regex"] = None

from app.main import create_app
from app.settings import Settings

create_app(Settings(home=Path(sys.argv[1]))).openapi()
rss = re.search(r"VmRSS:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(int(rss[1]) * 1024, *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_imports_and_memory_of_the_web_process(tmp_path: object) -> None:
    environ = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=environ,
        timeout=120,
    )
    rss, *modules = answer.stdout.split()
    assert not set(FORBIDDEN) & set(modules)
    assert int(rss) < RSS_BYTES
