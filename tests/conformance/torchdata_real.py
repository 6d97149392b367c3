"""Trains over a real `StatefulDataLoader` without a model: which rows each epoch saw, as JSON.

    python torchdata_real.py JOBS WORKERS STEP…

JOBS is the folder of `train.py`. The loader is built and gone through as SkyRL's trainer does
(`build_dataloader`, `train`): first without a stop, then resumed from the state at each STEP,
plainly and by way of our wrapper. Prints `{"whole": …, "plain": {STEP: …}, "wrapped": {STEP: …}}`,
each a list of batches `[epoch, [row, …]]`.
"""

import importlib
import json
import sys
import warnings
from typing import Any

import torch
from torchdata.stateful_dataloader import StatefulDataLoader

ROWS, BATCH, EPOCHS = 25, 4, 3

Batches = list[tuple[int, list[int]]]


class Rows:
    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, place: int) -> int:
        return place


def collate(rows: list[int]) -> list[int]:
    return list(rows)


def make_loader(workers: int) -> Any:
    generator = torch.Generator()
    generator.manual_seed(42)
    return StatefulDataLoader(
        Rows(),
        batch_size=BATCH,
        shuffle=True,
        collate_fn=collate,
        num_workers=workers,
        drop_last=True,
        generator=generator,
        # SkyRL spawns, for Ray's sake; forked workers give the same batches and start at once.
        multiprocessing_context="fork" if workers else None,
    )


def train(loader: Any, start: int, save_at: set[int]) -> tuple[Batches, dict[int, Any]]:
    step, seen, states = start, [], {}
    for epoch in range(start // len(loader), EPOCHS):
        for batch in loader:
            step += 1
            seen.append((epoch, batch))
            if step in save_at:
                states[step] = loader.state_dict()
    return seen, states


def main() -> None:
    warnings.simplefilter("ignore")
    jobs, workers, *steps = sys.argv[1:]
    sys.path.insert(0, jobs)
    keep_whole_epochs = importlib.import_module("train").keep_whole_epochs
    whole, states = train(make_loader(int(workers)), 0, {int(step) for step in steps})
    found: dict[str, Any] = {"whole": whole, "plain": {}, "wrapped": {}}
    for step, state in states.items():
        for kind in ("plain", "wrapped"):
            loader = make_loader(int(workers))
            if kind == "wrapped":
                keep_whole_epochs(loader)
            loader.load_state_dict(state)
            found[kind][step], _ = train(loader, step, set())
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
