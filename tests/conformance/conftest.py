"""What conformance tests share: an environment with the real SkyRL."""

import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INDEX_UNREACHABLE = 75


@pytest.fixture(scope="session")
def real_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of an environment with the real SkyRL 0.4.0."""
    folder = tmp_path_factory.mktemp("skyrl") / "venv"
    made = subprocess.run(
        [HERE / "skyrl_venv.sh", folder], capture_output=True, text=True, timeout=240
    )
    if made.returncode == INDEX_UNREACHABLE:
        pytest.skip(f"the package index cannot be reached, so there is no SkyRL: {made.stderr}")
    assert made.returncode == 0, made.stderr
    return folder / "bin" / "python"
