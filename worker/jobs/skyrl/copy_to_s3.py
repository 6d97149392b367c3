"""Copies finished checkpoints and exports of a run to S3 while the run goes on.

    python copy_to_s3.py --checkpoints=/shared/runs/RUN/checkpoints \
        --exports=/shared/runs/RUN/exports --to=s3://bucket/RUN [--once]

Only what is complete is copied: checkpoints up to the step in SkyRL's
`latest_ckpt_global_step.txt`, which it writes last, and exports, which it moves into place at once.
That step is written last, too, and only over another, so that the copy is one to resume from
whenever this program ends. What was copied is marked by `.copied-to-s3` in the original: a job that
is submitted again copies nothing twice.
"""

import argparse
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

LATEST = "latest_ckpt_global_step.txt"
DONE = ".copied-to-s3"
_STEP = "global_step_"
_PAUSE_SECONDS = 60.0
_AT_ONCE = 4


def copy_checkpoints(folder: Path, target: str, files: Any) -> list[str]:
    """Copies complete checkpoints that were not copied yet; the names of their folders.

    `files` is an fsspec file system.
    """
    try:
        latest = (folder / LATEST).read_text()
    except FileNotFoundError:
        return []
    copied = _copy([each for each in _steps(folder) if _step(each) <= int(latest)], target, files)
    _write_latest(latest, f"{target}/{LATEST}", files)
    return copied


def copy_exports(folder: Path, target: str, files: Any) -> list[str]:
    """Copies exports that were not copied yet; the names of their folders."""
    return _copy([each for each in _steps(folder) if (each / "policy").is_dir()], target, files)


def main(arguments: list[str]) -> int:
    """Exit status 1: with `--once`, something could not be copied."""
    parser = argparse.ArgumentParser(description="Copy finished checkpoints of a run to S3.")
    parser.add_argument("--checkpoints", type=Path, required=True)
    parser.add_argument("--exports", type=Path, required=True)
    parser.add_argument("--to", required=True)
    parser.add_argument("--once", action="store_true")
    args = parser.parse_args(arguments)
    target = args.to.rstrip("/")
    while True:
        found = [
            _try(copy_checkpoints, args.checkpoints, f"{target}/checkpoints"),
            _try(copy_exports, args.exports, f"{target}/exports"),
        ]
        if args.once:
            return 0 if all(found) else 1
        time.sleep(_PAUSE_SECONDS)


def _try(copy: Callable[[Path, str, Any], list[str]], folder: Path, target: str) -> bool:
    try:
        for name in copy(folder, target, _file_system()):
            sys.stdout.write(f"copied {folder / name} to {target}/{name}\n")
    except Exception as error:
        # A copy must not end the training; the next round tries again.
        sys.stderr.write(f"copy_to_s3: {folder} to {target}: {type(error).__name__}: {error}\n")
        return False
    return True


def _file_system() -> Any:
    import fsspec

    return fsspec.filesystem("s3")


def _copy(sources: list[Path], target: str, files: Any) -> list[str]:
    copied = []
    for source in sources:
        if not (source / DONE).exists():
            _copy_folder(source, f"{target}/{source.name}", files)
            (source / DONE).touch()
            copied.append(source.name)
    return copied


def _copy_folder(source: Path, target: str, files: Any) -> None:
    """File by file: a folder that is there in part, fsspec would copy into, one level down."""
    found = [each for each in source.rglob("*") if each.is_file()]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        put = [
            pool.submit(files.put_file, str(each), f"{target}/{each.relative_to(source)}")
            for each in found
        ]
        for each in put:
            each.result()


def _write_latest(latest: str, target: str, files: Any) -> None:
    """As it was read before the copy: the trainer may have written the next one since."""
    try:
        if files.cat_file(target) == latest.encode():
            return
    except FileNotFoundError:
        pass
    files.pipe_file(target, latest.encode())


def _steps(folder: Path) -> list[Path]:
    found = [each for each in folder.glob(f"{_STEP}*") if each.is_dir() and _step(each) >= 0]
    return sorted(found, key=_step)


def _step(path: Path) -> int:
    digits = path.name.removeprefix(_STEP)
    return int(digits) if digits.isdigit() else -1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
