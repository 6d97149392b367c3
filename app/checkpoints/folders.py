"""Finds what a run has saved in its own folder. Never outside of it, and through no link.

Layout, as SkyRL 0.4 and the embedded trainer write it: `<ckpt_path>/global_step_<N>/` with
`trainer_state.*` and `policy/`, marked whole by `<ckpt_path>/latest_ckpt_global_step.txt`, which is
written last; `<export_path>/global_step_<N>/policy/` with the adapter's two files, which appears by
one rename. Half-written neighbours have names that begin with a dot.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from app.checkpoints.exports import BadExport, look_at
from app.models import CheckpointKind
from app.storage.inside import is_file, open_file, open_folder, size_of

MAX_STEPS = 2_000
"""Folders of steps that one look takes, the newest."""
STATES, EXPORTS = "ckpts", "exports"
_STEP = re.compile(r"global_step_(\d{1,18})", re.ASCII)
_LATEST = "latest_ckpt_global_step.txt"
_POLICY = "policy"
# Of the embedded trainer, whose folders appear whole by one rename; of SkyRL.
_WHOLE, _PICKLED = "trainer_state.json", "trainer_state.pt"
_UNFINISHED = "the trainer had not finished it when it was last seen"


@dataclass(frozen=True, slots=True)
class Saved:
    """A checkpoint as it lies on the disk. `problem` is empty if it is complete."""

    kind: CheckpointKind
    step: int
    path: Path
    size_bytes: int
    problem: str
    saved_at: float
    """Unix seconds."""


def step_of(path: str) -> int | None:
    """The step that a path's last name tells, or the one before a last `policy`; else None."""
    parts = PurePosixPath(path).parts
    name = parts[-2] if len(parts) > 1 and parts[-1] == _POLICY else (parts[-1] if parts else "")
    found = _STEP.fullmatch(name)
    return int(found[1]) if found else None


def find_saved(run_folder: Path, named: Iterable[str] = ()) -> list[Saved]:
    """All that lies in the run's folder: in its usual places, and where the log `named` it.

    Blocking; bounded by `MAX_STEPS` for each place. What cannot be read is left out.
    """
    places = {(CheckpointKind.STATE, STATES), (CheckpointKind.ADAPTER, EXPORTS)}
    places |= set(_named_places(run_folder, named))
    found: dict[tuple[CheckpointKind, int], Saved] = {}
    for kind, place in sorted(places):
        for saved in _in_place(run_folder, kind, place):
            found.setdefault((saved.kind, saved.step), saved)
    return sorted(found.values(), key=lambda each: (each.step, each.kind))


def inside(run_folder: Path, path: str) -> PurePosixPath | None:
    """`path` as seen from the run's folder, or None if it does not name anything below that."""
    if "\0" in path or len(path) > os.pathconf("/", "PC_PATH_MAX"):
        return None
    whole = os.path.normpath(os.path.join(run_folder, path))
    folder = os.path.normpath(run_folder)
    if not whole.startswith(folder + os.sep):
        return None
    return PurePosixPath(whole[len(folder) + 1 :])


def _named_places(run_folder: Path, named: Iterable[str]) -> Iterator[tuple[CheckpointKind, str]]:
    for path in named:
        place = inside(run_folder, path)
        if place is None or step_of(str(place)) is None:
            continue
        is_export = place.name == _POLICY
        parent = place.parent.parent if is_export else place.parent
        yield CheckpointKind.ADAPTER if is_export else CheckpointKind.STATE, str(parent)


def _in_place(run_folder: Path, kind: CheckpointKind, place: str) -> Iterator[Saved]:
    try:
        with open_folder(run_folder, place) as folder:
            steps = sorted(_steps_in(folder), reverse=True)[:MAX_STEPS]
            latest = _latest(folder) if kind is CheckpointKind.STATE else None
            for step in steps:
                below = f"global_step_{step}"
                path = run_folder / place / below
                try:
                    if kind is CheckpointKind.STATE:
                        yield _state(folder, below, step, path, latest)
                    else:
                        yield _adapter(folder, below, step, path)
                except OSError:
                    continue  # It was removed while we looked, or never was an export.
    except (OSError, ValueError):
        return


def _steps_in(folder: int) -> Iterator[int]:
    with os.scandir(folder) as entries:
        for entry in entries:
            found = _STEP.fullmatch(entry.name)
            # Other spellings of the number would be other folders of the same step.
            if found and found[1] == str(int(found[1])) and entry.is_dir(follow_symlinks=False):
                yield int(found[1])


def _latest(folder: int) -> int | None:
    try:
        with open_file(folder, _LATEST) as file:
            text = file.read(20).decode("ascii", "replace").strip()
    except OSError:
        return None
    return int(text) if text.isascii() and text.isdigit() else None


def _state(folder: int, name: str, step: int, path: Path, latest: int | None) -> Saved:
    with open_folder(folder, name) as opened:
        problem = ""
        if not is_file(opened, _WHOLE) and not is_file(opened, _PICKLED):
            problem = "it holds no trainer state"
        # SkyRL writes into the folder itself, and the marker last: a save may have been cut short.
        elif not is_file(opened, _WHOLE) and (latest is None or step > latest):
            problem = _UNFINISHED
        return Saved(
            CheckpointKind.STATE, step, path, size_of(opened), problem, os.fstat(opened).st_mtime
        )


def _adapter(folder: int, name: str, step: int, path: Path) -> Saved:
    with open_folder(folder, f"{name}/{_POLICY}") as opened:
        problem = ""
        try:
            look_at(opened)
        except BadExport as error:
            problem = error.message
        return Saved(
            CheckpointKind.ADAPTER,
            step,
            path / _POLICY,
            size_of(opened),
            problem,
            os.fstat(opened).st_mtime,
        )
