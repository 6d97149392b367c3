"""Copies finished checkpoints and exports of a run to S3 while the run goes on.

    python copy_to_s3.py --checkpoints=/shared/runs/RUN/checkpoints \
        --exports=/shared/runs/RUN/exports --to=s3://bucket/RUN [--once]

Only what is complete is copied: checkpoints up to the step in SkyRL's
`latest_ckpt_global_step.txt`, which it writes last, and exports, which it moves into place at once.
The file with the step is copied last, too, so that the copy is one to resume from. What was copied
is marked by `.copied-to-s3` in the original: a job that is submitted again copies nothing twice.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

LATEST = "latest_ckpt_global_step.txt"
DONE = ".copied-to-s3"
_STEP = "global_step_"
_PAUSE_SECONDS = 60.0

Put = Callable[[Path, str], None]
"""Copies a file or a whole folder to an address."""


def copy_checkpoints(folder: Path, target: str, put: Put) -> list[str]:
    """Copies complete checkpoints that were not copied yet; the names of their folders."""
    try:
        latest = int((folder / LATEST).read_text())
    except FileNotFoundError:
        return []
    copied = _copy([each for each in _steps(folder) if _step(each) <= latest], target, put)
    if copied:
        put(folder / LATEST, f"{target}/{LATEST}")
    return copied


def copy_exports(folder: Path, target: str, put: Put) -> list[str]:
    """Copies exports that were not copied yet; the names of their folders."""
    return _copy([each for each in _steps(folder) if (each / "policy").is_dir()], target, put)


def main(arguments: list[str]) -> int:
    """Exit status 1: with `--once`, something could not be copied."""
    parser = argparse.ArgumentParser(description="Copy finished checkpoints of a run to S3.")
    parser.add_argument("--checkpoints", type=Path, required=True)
    parser.add_argument("--exports", type=Path, required=True)
    parser.add_argument("--to", required=True)
    parser.add_argument("--once", action="store_true")
    args = parser.parse_args(arguments)
    target, put = args.to.rstrip("/"), _uploader()
    while True:
        found = [
            _try(copy_checkpoints, args.checkpoints, f"{target}/checkpoints", put),
            _try(copy_exports, args.exports, f"{target}/exports", put),
        ]
        if args.once:
            return 0 if all(found) else 1
        time.sleep(_PAUSE_SECONDS)


def _try(copy: Callable[[Path, str, Put], list[str]], folder: Path, target: str, put: Put) -> bool:
    try:
        for name in copy(folder, target, put):
            sys.stdout.write(f"copied {folder / name} to {target}/{name}\n")
    except Exception as error:
        # A copy must not end the training; the next round tries again.
        sys.stderr.write(f"copy_to_s3: {folder} to {target}: {type(error).__name__}: {error}\n")
        return False
    return True


def _copy(sources: list[Path], target: str, put: Put) -> list[str]:
    copied = []
    for source in sources:
        if not (source / DONE).exists():
            put(source, f"{target}/{source.name}")
            (source / DONE).touch()
            copied.append(source.name)
    return copied


def _uploader() -> Put:
    import fsspec

    files = fsspec.filesystem("s3")

    def put(source: Path, target: str) -> None:
        files.put(str(source), target, recursive=source.is_dir())

    return put


def _steps(folder: Path) -> list[Path]:
    found = [each for each in folder.glob(f"{_STEP}*") if each.is_dir() and _step(each) >= 0]
    return sorted(found, key=_step)


def _step(path: Path) -> int:
    digits = path.name.removeprefix(_STEP)
    return int(digits) if digits.isdigit() else -1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
