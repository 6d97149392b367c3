"""The job's log in SkyRL's console format: loguru lines with colours, metrics as a printed dict.

Source: SkyRL commit a9564572 (`Tracking`, `Timer`, `configure_ray_worker_logging`). The locations
after the time are those of SkyRL's lines, so that one parser reads both.
"""

import contextlib
import pprint
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TextIO

from worker.jobs.maze_grpo.metrics import Values

_RESET, _BOLD = "\x1b[0m", "\x1b[1m"
_GREEN, _RED, _CYAN = "\x1b[32m", "\x1b[31m", "\x1b[36m"
_LEVELS = {"INFO": _BOLD + _GREEN, "ERROR": _BOLD + _RED}

TRAINER, TRACKING = "skyrl.train.trainer", "skyrl.train.utils.tracking"
TRAIN = f"{TRAINER}:train:497"
LOAD = f"{TRAINER}:load_checkpoints:1777"
SAVE = f"{TRAINER}:save_checkpoints:1701"
EXPORT = f"{TRAINER}:save_models:1900"
DONE = f"{TRAINER}:train:601"
REWARDS = f"{TRAINER}:postprocess_generator_output:1116"
DUMP = "skyrl.train.utils.trainer_utils:dump_per_dataset_eval_results:373"
LOADER = "skyrl.train.utils.trainer_utils:build_dataloader:870"
_METRICS = f"{TRACKING}:log:189"
_FAILURE = f"{TRACKING}:log_exception:117"
_TIMER = f"{TRAINER}:train:342"


class Console:
    """Writes whole records and flushes each."""

    def __init__(
        self,
        stream: TextIO,
        *,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
        seconds: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._stream, self._now, self._seconds = stream, now, seconds

    def info(self, message: str, where: str = TRAIN) -> None:
        """One record. `where` is `module:function:line`."""
        self._record("INFO", message, where)

    def error(self, message: str) -> None:
        """One record that says why the run ends."""
        self._record("ERROR", message, _FAILURE)

    def metrics(self, step: int, values: Mapping[str, float | int]) -> None:
        """The block of a step. Floats appear as text with four decimals, sorted by key."""
        shown = {
            key: f"{value:.4f}" if isinstance(value, float) else value
            for key, value in values.items()
        }
        self._record("INFO", f"Step {step}: \n{pprint.pformat(shown)}", _METRICS)

    @contextlib.contextmanager
    def timer(self, name: str, timings: Values) -> Iterator[None]:
        """Says when a phase starts and ends; adds its seconds to `timings` as `timing/<name>`."""
        self.info(f"Started: '{name}'", _TIMER)
        start = self._seconds()
        try:
            yield
        finally:
            spent = self._seconds() - start
            timings[f"timing/{name}"] = timings.get(f"timing/{name}", 0.0) + spent
        self.info(f"Finished: '{name}', time cost: {spent:.2f}s", _TIMER)

    def _record(self, level: str, message: str, where: str) -> None:
        at = self._now().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        colour = _LEVELS[level]
        place = ":".join(f"{_CYAN}{part}{_RESET}" for part in where.split(":"))
        head = f"{_GREEN}{at}{_RESET} | {colour}{level: <8}{_RESET} | {place} - "
        self._stream.write(f"{head}{colour}{message}{_RESET}\n")
        self._stream.flush()
