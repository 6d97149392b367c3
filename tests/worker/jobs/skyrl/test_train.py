"""The resume wrapper over a loader that behaves as torchdata's does. The real one: conformance."""

from collections.abc import Iterator

from worker.jobs.skyrl.train import keep_whole_epochs


class Loader:
    """A restored position counts for the next pass only; at the end of an epoch that is empty."""

    def __init__(self, batches: int) -> None:
        self.batches = batches
        self.start = 0

    def load_state_dict(self, state: int) -> None:
        self.start = state

    def __iter__(self) -> Iterator[int]:
        start, self.start = self.start, 0
        yield from range(start, self.batches)


def test_an_epochs_end_goes_on_with_the_next_epoch() -> None:
    plain, wrapped = Loader(3), Loader(3)
    keep_whole_epochs(wrapped)
    plain.load_state_dict(3)
    wrapped.load_state_dict(3)
    assert (list(plain), list(wrapped)) == ([], [0, 1, 2])


def test_the_middle_of_an_epoch_loses_no_batch() -> None:
    loader = Loader(3)
    keep_whole_epochs(loader)
    loader.load_state_dict(1)
    assert list(loader) == [1, 2]
    assert list(loader) == [0, 1, 2]
