"""Time of the processor, for tests that judge speed whatever else the machine does."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def processor_under(seconds: float) -> Iterator[None]:
    """Fails if the block takes more of the processor.

    The collector stands still: its share grows with what other tests have left in memory.
    """
    gc.disable()
    try:
        started = time.process_time()
        yield
        assert time.process_time() - started < seconds
    finally:
        gc.enable()
