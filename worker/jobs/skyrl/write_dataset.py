"""Writes the rows of a VisGym data set: one ticket a maze, with its seed if it has one.

    python write_dataset.py --env-id=maze_2d/easy --rows=256 --first-seed=1000 --not-seeds=0:64 \
        --output=/shared/runs/RUN/data/train.parquet

Columns as SkyRL's PromptDataset and VisGymEnv read them: `prompt` (a placeholder, since the
environment makes its own), `env_class`, `visgym_env_id` and, with `--first-seed`, `seed`. Rows
with a seed make all rollouts of a group play the same maze. The same call writes the same rows;
the file appears in one step, and a file that somebody else wrote is left alone.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

MARK = b"written_by"
OURS = b"skydeck"


class Refused(Exception):
    """The rows cannot be written; the message says why."""


def make_rows(
    env_id: str, *, env_class: str, count: int, first_seed: int | None
) -> list[dict[str, Any]]:
    """`count` rows; their seeds are `first_seed`, `first_seed + 1`, …, or none at all."""
    rows: list[dict[str, Any]] = []
    for place in range(count):
        seed = {} if first_seed is None else {"seed": first_seed + place}
        prompt = [{"role": "user", "content": "placeholder"}]
        rows.append({"prompt": prompt, "env_class": env_class, "visgym_env_id": env_id} | seed)
    return rows


def check_seeds(count: int, first_seed: int | None, forbidden: range) -> None:
    """Raises `Refused` if a seed of the rows is one of the forbidden ones."""
    if first_seed is None or not len(forbidden):
        return
    if first_seed < forbidden.stop and forbidden.start < first_seed + count:
        raise Refused(
            f"seeds {first_seed} to {first_seed + count - 1} overlap the seeds "
            f"{forbidden.start} to {forbidden.stop - 1} of the evaluation: "
            f"start at {forbidden.stop} or later"
        )


def write(rows: list[dict[str, Any]], output: Path) -> None:
    """Writes a Parquet file. Raises `Refused` if another program's file is in its place."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if output.exists() and (pq.read_schema(output).metadata or {}).get(MARK) != OURS:
        raise Refused(f"{output} is there and was not written by this program: take another path")
    table = pa.Table.from_pylist(rows).replace_schema_metadata({MARK: OURS})
    output.parent.mkdir(parents=True, exist_ok=True)
    # On storage that nodes share, jobs of two nodes may have the same process id.
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}.") as scratch:
        part = Path(scratch) / output.name
        pq.write_table(table, part)
        os.replace(part, output)


def main(arguments: list[str]) -> int:
    """Returns the exit status: 0, or 2 where the rows are refused."""
    parser = argparse.ArgumentParser(description="Write the rows of a VisGym data set.")
    parser.add_argument("--env-id", required=True)
    parser.add_argument("--env-class", default="visgym")
    parser.add_argument("--rows", type=_count, required=True)
    parser.add_argument("--first-seed", type=_count)
    parser.add_argument("--not-seeds", type=_span, default=range(0), metavar="FROM:TO")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args(arguments)
    try:
        check_seeds(args.rows, args.first_seed, args.not_seeds)
        rows = make_rows(
            args.env_id, env_class=args.env_class, count=args.rows, first_seed=args.first_seed
        )
        write(rows, args.output)
    except Refused as error:
        sys.stderr.write(f"write_dataset: {error}\n")
        return 2
    sys.stdout.write(f"wrote {args.rows} rows of {args.env_id} to {args.output}\n")
    return 0


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return value


def _span(text: str) -> range:
    first, _, end = text.partition(":")
    return range(_count(first), _count(end))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
