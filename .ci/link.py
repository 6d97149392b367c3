"""Makes this checkout importable in .venv and adds the `skydeck` command, without a build.

`pip install -e .` would fetch a build tool that no lock file pins.
"""

import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMAND = f"""#!{sys.executable}
from app.cli import main

raise SystemExit(main())
"""

Path(sysconfig.get_path("purelib"), "skydeck.pth").write_text(f"{ROOT}\n")
program = Path(sysconfig.get_path("scripts"), "skydeck")
program.write_text(COMMAND)
program.chmod(0o755)
