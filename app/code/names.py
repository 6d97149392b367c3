"""Names inside of an uploaded zip: which ones may be unpacked on a cluster. Pure."""

from collections.abc import Iterable

MAX_PATH_BYTES = 1_000
MAX_PART_BYTES = 255
MAX_PARTS = 40
_SHOWN = 80


def path_problem(name: str) -> str | None:
    """Why a file of this name is refused, as the end of a sentence; None for a good one."""
    path = name.removesuffix("/")
    if "\0" in name or not name.isprintable():
        return "has signs in its name that cannot be shown: rename it"
    if "\\" in name:
        return "has a backslash in its name: pack again with / between folders"
    if name.startswith("/") or name[1:2] == ":":
        return "has an absolute path: pack the folder's content, with relative paths"
    parts = path.split("/")
    if ".." in parts:
        return "leads out of the folder that it is unpacked into: pack from inside of your folder"
    if "" in parts or "." in parts:
        return "has an empty part in its path: pack the folder again"
    if len(path.encode()) > MAX_PATH_BYTES:
        return f"has a path of more than {MAX_PATH_BYTES:,} bytes: use shorter names"
    if len(parts) > MAX_PARTS:
        return f"lies more than {MAX_PARTS} folders deep: pack a folder nearer to it"
    if any(len(part.encode()) > MAX_PART_BYTES for part in parts):
        return f"has a part in its path of more than {MAX_PART_BYTES} bytes: use shorter names"
    return None


def find_twice(names: Iterable[str]) -> str | None:
    """The first name that stands for two files, or for a file and a folder.

    Paths are kept as hashes of 64 bits, secret to this process: the folders of a zip of long names
    would take a hundred times its own size.
    """
    files: set[int] = set()
    folders: set[int] = set()
    for name in names:
        path = name.removesuffix("/")
        parents = [hash(parent) for parent in _parents(path)]
        own = hash(path)
        if name.endswith("/"):
            parents.append(own)
        elif own in files or own in folders:
            return path
        else:
            files.add(own)
        if not files.isdisjoint(parents):
            return next(parent for parent in _parents(name) if hash(parent) in files)
        folders.update(parents)
    return None


def _parents(name: str) -> list[str]:
    return [name[:at] for at, sign in enumerate(name) if sign == "/"]


def shown(name: str) -> str:
    """A name as it may stand in a message, whatever it holds."""
    text = name if name.isprintable() else ascii(name)[1:-1]
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
