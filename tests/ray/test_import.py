"""Ray takes a second and 90 MB to import: nothing may do so before the first change of a job."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["app.ray.client", "app.ray.embedded", "app.ray.memory"])
def test_importing_does_not_import_ray(module: str) -> None:
    code = f"import sys, {module}; sys.exit('ray' in sys.modules or 'requests' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
